//! session_file
