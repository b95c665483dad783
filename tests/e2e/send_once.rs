//! One intent is handed to a provider at most once: processes killed and frozen at each
//! point, providers that lie, and twins.

mod cuts;
mod events;
mod killed;
mod lies;
mod office;
mod real_server;
mod restored;
mod twins;
mod wake_up;
mod wire;
