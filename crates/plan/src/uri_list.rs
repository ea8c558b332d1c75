//! uri_list
