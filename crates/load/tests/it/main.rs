//! Tests of the crate as others use it.

mod looks;
