//! Order: which variable stands at which position.

/// A permutation of the variables of a problem and its inverse.
///
/// Solvers put the active variables first, so that a row of the active set is the beginning of a
/// row. Variables are numbered once and for all; positions change.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The variable at each position.
    variables: Vec<u32>,
    /// The position of each variable.
    positions: Vec<u32>,
    natural: bool,
}

impl Order {
    /// Begins with every variable at its own number.
    pub fn natural(len: usize) -> Self {
        let variables: Vec<u32> = (0..len as u32).collect();
        Order {
            positions: variables.clone(),
            variables,
            natural: true,
        }
    }

    /// Returns the number of variables.
    pub fn len(&self) -> usize {
        self.variables.len()
    }

    /// Tells whether every variable stands at its own number.
    pub fn is_natural(&self) -> bool {
        self.natural
    }

    /// Returns the variable at a position.
    #[inline]
    pub fn variable(&self, position: usize) -> u32 {
        self.variables[position]
    }

    /// Returns the variables by position.
    pub fn variables(&self) -> &[u32] {
        &self.variables
    }

    /// Returns the position of a variable.
    #[inline]
    pub fn position(&self, variable: u32) -> usize {
        self.positions[variable as usize] as usize
    }

    /// Returns values that are given by position in the order of variables.
    pub fn by_variable<V: Copy>(&self, values: &[V]) -> Vec<V> {
        let positions = self.positions.iter();
        positions.map(|&at| values[at as usize]).collect()
    }

    /// Puts the leading positions in a new order: position p now has what position `order[p]` had.
    pub fn rearrange(&mut self, order: &[u32]) {
        let old = self.variables[..order.len()].to_vec();
        for (at, &from) in order.iter().enumerate() {
            let variable = old[from as usize];
            self.variables[at] = variable;
            self.positions[variable as usize] = at as u32;
        }
        self.natural = (0..).zip(&self.variables).all(|(at, &v)| at == v);
    }

    /// Returns the order that [`rearrange`](Self::rearrange) takes to undo this one.
    pub fn inverse(&self) -> &[u32] {
        &self.positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree_and_the_inverse_undoes() {
        let mut order = Order::natural(6);
        order.rearrange(&[3, 1, 0, 2]);
        assert_eq!(order.variables(), [3, 1, 0, 2, 4, 5]);
        order.rearrange(&[1, 0]);
        assert_eq!(order.variables(), [1, 3, 0, 2, 4, 5]);
        assert!((0..6).all(|at| order.position(order.variable(at)) == at));
        assert_eq!(
            order.by_variable(&[10, 30, 0, 20, 40, 50]),
            [0, 10, 20, 30, 40, 50]
        );
        assert!(!order.is_natural());
        let inverse = order.inverse().to_vec();
        order.rearrange(&inverse);
        assert!(order.is_natural());
        assert_eq!(order.len(), 6);
    }
}
