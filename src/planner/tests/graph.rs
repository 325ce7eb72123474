//! The shape of workflows.

use super::super::graph::Shape;
use super::*;

fn shape(parents: &[&[usize]], medians: &[f64]) -> Shape {
    let steps = parents.iter().map(|parents| step(parents, &[0])).collect();
    Shape::of(&problem(steps, vec![path(0, 1.0, 1e-6)]), medians)
}

#[test]
fn a_chain_has_no_joins() {
    let shape = shape(&[&[], &[0], &[1]], &[1.0; 3]);
    assert_eq!(shape.children, [vec![1], vec![2], vec![]]);
    assert_eq!(shape.join, [None; 3]);
    assert_eq!(shape.above, [0, 0b1, 0b11]);
}

#[test]
fn branches_know_their_join_and_how_far_it_is() {
    let shape = shape(&[&[], &[0], &[1], &[0], &[2, 3], &[4]], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(shape.meets[0], Some((4, 5.0)));
    assert_eq!(shape.join, [Some(4), Some(4), Some(4), Some(4), None, None]);
    assert_eq!(shape.to_join[..4], [5.0, 3.0, 0.0, 0.0]);
}

#[test]
fn an_edge_that_a_longer_way_makes_redundant_counts_for_nothing() {
    let shape = shape(&[&[], &[0], &[0, 1]], &[1.0; 3]);
    assert_eq!(shape.children, [vec![1], vec![2], vec![]]);
    assert_eq!(shape.join, [None; 3]);
}

#[test]
fn branches_that_never_meet_have_no_join() {
    let shape = shape(&[&[], &[0], &[0]], &[1.0; 3]);
    assert_eq!(shape.meets[0], None);
    assert_eq!(shape.join, [None; 3]);
}

#[test]
fn an_inner_fork_meets_before_the_outer_one() {
    // 0 forks into 1 and 5; 1 into 2 and 3, which meet in 4; 4 and 5 meet in 6.
    let shape = shape(&[&[], &[0], &[1], &[1], &[2, 3], &[0], &[4, 5]], &[1.0; 7]);
    assert_eq!(shape.meets[0], Some((6, 3.0)));
    assert_eq!(shape.meets[1], Some((4, 1.0)));
    assert_eq!(shape.join[2], Some(4));
    assert_eq!(shape.join[5], Some(6));
}
