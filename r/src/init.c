
// clang-format sorts includes unless SortIncludes: Never. However, the ordering
// does matter here. So, we need to disable clang-format for safety.

// clang-format off
#include <stdint.h>
#include <Rinternals.h>
#include <R_ext/Parse.h>
// clang-format on

#include "rust/api.h"

static uintptr_t TAGGED_POINTER_MASK = (uintptr_t)1;

SEXP handle_result(SEXP res_) {
    uintptr_t res = (uintptr_t)res_;

    // An error is indicated by tag.
    if ((res & TAGGED_POINTER_MASK) == 1) {
        // Remove tag
        SEXP res_aligned = (SEXP)(res & ~TAGGED_POINTER_MASK);

        // Currently, there are two types of error cases:
        //
        //   1. Error from Rust code
        //   2. Error from R's C API, which is caught by R_UnwindProtect()
        //
        if (TYPEOF(res_aligned) == CHARSXP) {
            // In case 1, the result is an error message that can be passed to
            // Rf_errorcall() directly.
            Rf_errorcall(R_NilValue, "%s", CHAR(res_aligned));
        } else {
            // In case 2, the result is the token to restart the
            // cleanup process on R's side.
            R_ContinueUnwind(res_aligned);
        }
    }

    return (SEXP)res;
}

SEXP savvy_native_bound_text__impl(SEXP c_arg__values, SEXP c_arg__digits) {
    SEXP res = savvy_native_bound_text__ffi(c_arg__values, c_arg__digits);
    return handle_result(res);
}

SEXP savvy_native_keywords__impl(void) {
    SEXP res = savvy_native_keywords__ffi();
    return handle_result(res);
}

SEXP savvy_native_probability_text__impl(SEXP c_arg__values) {
    SEXP res = savvy_native_probability_text__ffi(c_arg__values);
    return handle_result(res);
}

SEXP savvy_native_version__impl(void) {
    SEXP res = savvy_native_version__ffi();
    return handle_result(res);
}

SEXP savvy_Answer_alive__impl(SEXP self__) {
    SEXP res = savvy_Answer_alive__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_certificate__impl(SEXP self__) {
    SEXP res = savvy_Answer_certificate__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_contrast__impl(SEXP self__, SEXP c_arg__expression, SEXP c_arg__level) {
    SEXP res = savvy_Answer_contrast__ffi(self__, c_arg__expression, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_covariance__impl(SEXP self__) {
    SEXP res = savvy_Answer_covariance__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_draw_names__impl(SEXP self__) {
    SEXP res = savvy_Answer_draw_names__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_draws_at__impl(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__responses, SEXP c_arg__count, SEXP c_arg__seed) {
    SEXP res = savvy_Answer_draws_at__ffi(self__, c_arg__columns, c_arg__groups, c_arg__responses, c_arg__count, c_arg__seed);
    return handle_result(res);
}

SEXP savvy_Answer_levels__impl(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__level) {
    SEXP res = savvy_Answer_levels__ffi(self__, c_arg__columns, c_arg__groups, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_mean__impl(SEXP self__) {
    SEXP res = savvy_Answer_mean__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_observations__impl(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__level) {
    SEXP res = savvy_Answer_observations__ffi(self__, c_arg__columns, c_arg__groups, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_predict__impl(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__level) {
    SEXP res = savvy_Answer_predict__ffi(self__, c_arg__columns, c_arg__groups, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_record__impl(SEXP self__) {
    SEXP res = savvy_Answer_record__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_report__impl(SEXP self__, SEXP c_arg__level) {
    SEXP res = savvy_Answer_report__ffi(self__, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_restore__impl(SEXP c_arg__text, SEXP c_arg__bytes) {
    SEXP res = savvy_Answer_restore__ffi(c_arg__text, c_arg__bytes);
    return handle_result(res);
}

SEXP savvy_Answer_sample__impl(SEXP self__, SEXP c_arg__count, SEXP c_arg__seed) {
    SEXP res = savvy_Answer_sample__ffi(self__, c_arg__count, c_arg__seed);
    return handle_result(res);
}

SEXP savvy_Answer_save__impl(SEXP self__, SEXP c_arg__dir, SEXP c_arg__force) {
    SEXP res = savvy_Answer_save__ffi(self__, c_arg__dir, c_arg__force);
    return handle_result(res);
}

SEXP savvy_Answer_scales__impl(SEXP self__, SEXP c_arg__level) {
    SEXP res = savvy_Answer_scales__ffi(self__, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_state__impl(SEXP self__) {
    SEXP res = savvy_Answer_state__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Answer_survival__impl(SEXP self__, SEXP c_arg__columns, SEXP c_arg__groups, SEXP c_arg__time, SEXP c_arg__level) {
    SEXP res = savvy_Answer_survival__ffi(self__, c_arg__columns, c_arg__groups, c_arg__time, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Answer_table__impl(SEXP self__, SEXP c_arg__level) {
    SEXP res = savvy_Answer_table__ffi(self__, c_arg__level);
    return handle_result(res);
}

SEXP savvy_Run_failure__impl(SEXP self__) {
    SEXP res = savvy_Run_failure__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Run_new__impl(SEXP c_arg__formula, SEXP c_arg__name, SEXP c_arg__columns, SEXP c_arg__model, SEXP c_arg__run) {
    SEXP res = savvy_Run_new__ffi(c_arg__formula, c_arg__name, c_arg__columns, c_arg__model, c_arg__run);
    return handle_result(res);
}

SEXP savvy_Run_poll__impl(SEXP self__, SEXP c_arg__seconds) {
    SEXP res = savvy_Run_poll__ffi(self__, c_arg__seconds);
    return handle_result(res);
}

SEXP savvy_Run_progress__impl(SEXP self__) {
    SEXP res = savvy_Run_progress__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Run_stop__impl(SEXP self__) {
    SEXP res = savvy_Run_stop__ffi(self__);
    return handle_result(res);
}

SEXP savvy_Run_take__impl(SEXP self__) {
    SEXP res = savvy_Run_take__ffi(self__);
    return handle_result(res);
}


static const R_CallMethodDef CallEntries[] = {
    {"savvy_native_bound_text__impl", (DL_FUNC) &savvy_native_bound_text__impl, 2},
    {"savvy_native_keywords__impl", (DL_FUNC) &savvy_native_keywords__impl, 0},
    {"savvy_native_probability_text__impl", (DL_FUNC) &savvy_native_probability_text__impl, 1},
    {"savvy_native_version__impl", (DL_FUNC) &savvy_native_version__impl, 0},
    {"savvy_Answer_alive__impl", (DL_FUNC) &savvy_Answer_alive__impl, 1},
    {"savvy_Answer_certificate__impl", (DL_FUNC) &savvy_Answer_certificate__impl, 1},
    {"savvy_Answer_contrast__impl", (DL_FUNC) &savvy_Answer_contrast__impl, 3},
    {"savvy_Answer_covariance__impl", (DL_FUNC) &savvy_Answer_covariance__impl, 1},
    {"savvy_Answer_draw_names__impl", (DL_FUNC) &savvy_Answer_draw_names__impl, 1},
    {"savvy_Answer_draws_at__impl", (DL_FUNC) &savvy_Answer_draws_at__impl, 6},
    {"savvy_Answer_levels__impl", (DL_FUNC) &savvy_Answer_levels__impl, 4},
    {"savvy_Answer_mean__impl", (DL_FUNC) &savvy_Answer_mean__impl, 1},
    {"savvy_Answer_observations__impl", (DL_FUNC) &savvy_Answer_observations__impl, 4},
    {"savvy_Answer_predict__impl", (DL_FUNC) &savvy_Answer_predict__impl, 4},
    {"savvy_Answer_record__impl", (DL_FUNC) &savvy_Answer_record__impl, 1},
    {"savvy_Answer_report__impl", (DL_FUNC) &savvy_Answer_report__impl, 2},
    {"savvy_Answer_restore__impl", (DL_FUNC) &savvy_Answer_restore__impl, 2},
    {"savvy_Answer_sample__impl", (DL_FUNC) &savvy_Answer_sample__impl, 3},
    {"savvy_Answer_save__impl", (DL_FUNC) &savvy_Answer_save__impl, 3},
    {"savvy_Answer_scales__impl", (DL_FUNC) &savvy_Answer_scales__impl, 2},
    {"savvy_Answer_state__impl", (DL_FUNC) &savvy_Answer_state__impl, 1},
    {"savvy_Answer_survival__impl", (DL_FUNC) &savvy_Answer_survival__impl, 5},
    {"savvy_Answer_table__impl", (DL_FUNC) &savvy_Answer_table__impl, 2},
    {"savvy_Run_failure__impl", (DL_FUNC) &savvy_Run_failure__impl, 1},
    {"savvy_Run_new__impl", (DL_FUNC) &savvy_Run_new__impl, 5},
    {"savvy_Run_poll__impl", (DL_FUNC) &savvy_Run_poll__impl, 2},
    {"savvy_Run_progress__impl", (DL_FUNC) &savvy_Run_progress__impl, 1},
    {"savvy_Run_stop__impl", (DL_FUNC) &savvy_Run_stop__impl, 1},
    {"savvy_Run_take__impl", (DL_FUNC) &savvy_Run_take__impl, 1},
    {NULL, NULL, 0}
};

void R_init_provi(DllInfo *dll) {
    R_registerRoutines(dll, NULL, CallEntries, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);

    // Functions for initialization, if any.

}
