//! A reader of one leaf's queue during a pass.

use std::collections::btree_set;

use super::state::{Class, LeafQueue, QueueKey};

/// Goes through a leaf's queue in its order, class by class, without changing it.
pub(super) struct LeafCursor<'a> {
    classes: Vec<Behind<'a>>,
}

/// A class with the workload at its head and what comes behind it.
struct Behind<'a> {
    class: Class,
    head: QueueKey,
    rest: btree_set::Iter<'a, QueueKey>,
}

impl<'a> LeafCursor<'a> {
    /// A cursor at the beginning of the classes that `wanted` names.
    pub(super) fn new(queue: &'a LeafQueue, wanted: impl Fn(&Class) -> bool) -> Self {
        let classes = queue
            .iter()
            .filter(|(class, _)| wanted(class))
            .filter_map(|(class, keys)| {
                let mut rest = keys.iter();
                rest.next().map(|head| Behind {
                    class: *class,
                    head: *head,
                    rest,
                })
            });
        Self {
            classes: classes.collect(),
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The workload whose turn it is within the leaf.
    pub(super) fn head(&self) -> Option<(Class, QueueKey)> {
        self.classes
            .iter()
            .min_by_key(|behind| behind.head)
            .map(|behind| (behind.class, behind.head))
    }

    /// Goes on behind the head of a class.
    pub(super) fn take(&mut self, class: Class) {
        let Some(ix) = self.classes.iter().position(|behind| behind.class == class) else {
            return;
        };
        match self.classes[ix].rest.next() {
            Some(next) => self.classes[ix].head = *next,
            None => {
                self.classes.remove(ix);
            }
        }
    }

    /// Sets a class aside for the rest of the pass.
    pub(super) fn drop_class(&mut self, class: Class) {
        self.classes.retain(|behind| behind.class != class);
    }
}
