//! Meetings as a whole: in a model of a network with a virtual clock, and over real sockets and files.

mod meeting;
mod real;
mod world;
