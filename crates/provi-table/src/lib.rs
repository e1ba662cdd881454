//! Tables and model formulas: CSV to design matrix, response and names.
