SEXP savvy_native_bound_text__ffi(SEXP c_arg__values, SEXP c_arg__digits);
SEXP savvy_native_keywords__ffi(void);
SEXP savvy_native_probability_text__ffi(SEXP c_arg__values);
SEXP savvy_native_version__ffi(void);

// methods and associated functions for Answer
SEXP savvy_Answer_alive__ffi(SEXP self__);
SEXP savvy_Answer_certificate__ffi(SEXP self__);
SEXP savvy_Answer_contrast__ffi(SEXP self__, SEXP c_arg__expression, SEXP c_arg__level);
SEXP savvy_Answer_covariance__ffi(SEXP self__);
SEXP savvy_Answer_draw_names__ffi(SEXP self__);
SEXP savvy_Answer_draws_at__ffi(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__responses, SEXP c_arg__count, SEXP c_arg__seed);
SEXP savvy_Answer_levels__ffi(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__level);
SEXP savvy_Answer_mean__ffi(SEXP self__);
SEXP savvy_Answer_observations__ffi(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__level);
SEXP savvy_Answer_predict__ffi(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__level);
SEXP savvy_Answer_record__ffi(SEXP self__);
SEXP savvy_Answer_report__ffi(SEXP self__, SEXP c_arg__level);
SEXP savvy_Answer_restore__ffi(SEXP c_arg__text, SEXP c_arg__bytes);
SEXP savvy_Answer_sample__ffi(SEXP self__, SEXP c_arg__count, SEXP c_arg__seed);
SEXP savvy_Answer_save__ffi(SEXP self__, SEXP c_arg__dir, SEXP c_arg__force);
SEXP savvy_Answer_scales__ffi(SEXP self__, SEXP c_arg__level);
SEXP savvy_Answer_state__ffi(SEXP self__);
SEXP savvy_Answer_survival__ffi(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__time, SEXP c_arg__level);
SEXP savvy_Answer_table__ffi(SEXP self__, SEXP c_arg__level);

// methods and associated functions for Run
SEXP savvy_Run_failure__ffi(SEXP self__);
SEXP savvy_Run_new__ffi(SEXP c_arg__formula, SEXP c_arg__name, SEXP c_arg__columns, SEXP c_arg__model, SEXP c_arg__run);
SEXP savvy_Run_poll__ffi(SEXP self__, SEXP c_arg__seconds);
SEXP savvy_Run_progress__ffi(SEXP self__);
SEXP savvy_Run_stop__ffi(SEXP self__);
SEXP savvy_Run_take__ffi(SEXP self__);
