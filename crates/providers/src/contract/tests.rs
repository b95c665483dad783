//! What every contract must keep: its vectors, its payloads, its properties.

mod payloads;
mod properties;
mod vectors;

use super::*;

#[test]
fn every_contract_has_a_name_of_its_own_and_steps_to_set_it_up() {
    let names: Vec<&str> = contracts().map(|contract| contract.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for contract in contracts() {
        assert!(!contract.setup.is_empty(), "{}", contract.name);
    }
}
