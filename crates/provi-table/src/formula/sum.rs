//! The algebra of terms: products of distinct factors, without repetition.

use std::collections::HashSet;

use super::{Expression, Factor, Group, Span, Spanned, Term};
use crate::error::{BadFormula, Error, Result};

/// One term: the product of distinct factors.
pub(super) type Product = Vec<Factor>;

/// More terms than any sensible formula has; keeps `(a + b + ..)^9` from filling the memory.
pub(super) const MOST_TERMS: usize = 10_000;

/// Most factors of one term.
pub(super) const MOST_FACTORS: usize = 16;

/// Terms in the order first written, each once. Equality compares sorted text.
#[derive(Debug, Default)]
pub(super) struct Terms {
    pub(super) list: Vec<Product>,
    seen: HashSet<Vec<String>>,
}

impl Terms {
    pub(super) fn one(factor: Factor) -> Self {
        let mut terms = Self::default();
        terms.push(vec![factor]);
        terms
    }

    pub(super) fn push(&mut self, product: Product) {
        if self.seen.insert(key(&product)) {
            self.list.push(product);
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        other.list.into_iter().for_each(|product| self.push(product));
    }

    /// a:b, every term of one with every term of the other; `None` beyond the limits.
    pub(super) fn interact(&self, other: &Self) -> Option<Self> {
        if self.list.len().saturating_mul(other.list.len()) > MOST_TERMS {
            return None;
        }
        let mut terms = Self::default();
        for left in &self.list {
            for right in &other.list {
                terms.push(union(left, right)?);
            }
        }
        Some(terms)
    }

    /// a * b = a + b + a:b
    pub(super) fn cross(self, other: Self) -> Option<Self> {
        let products = self.interact(&other)?;
        let mut terms = self;
        terms.extend(other);
        terms.extend(products);
        (terms.list.len() <= MOST_TERMS).then_some(terms)
    }

    /// a / b = a + a:b, where a sum on the left enters as one product.
    pub(super) fn nest(self, other: &Self) -> Option<Self> {
        let mut all = Product::new();
        for product in &self.list {
            all = union(&all, product)?;
        }
        let mut left = Self::default();
        left.push(all);
        let products = left.interact(other)?;
        let mut terms = self;
        terms.extend(products);
        Some(terms)
    }

    /// a %in% b: every term of the one, within the product of all terms of the other; b %in% a = a:b.
    pub(super) fn within(&self, other: &Self) -> Option<Self> {
        let mut all = Product::new();
        for product in &other.list {
            all = union(&all, product)?;
        }
        let mut terms = Self::default();
        for product in &self.list {
            terms.push(union(&all, product)?);
        }
        Some(terms)
    }

    /// a^k = a * a * .. * a
    pub(super) fn power(self, exponent: usize) -> Option<Self> {
        let mut terms = Self::default();
        self.list.iter().for_each(|product| terms.push(product.clone()));
        for _ in 1..exponent {
            let before = terms.list.len();
            terms = terms.cross(Self { list: self.list.clone(), seen: self.seen.clone() })?;
            if terms.list.len() == before {
                break;
            }
        }
        Some(terms)
    }
}

/// Two products are the same term in any order.
fn key(product: &[Factor]) -> Vec<String> {
    let mut key: Vec<String> = product.iter().map(Factor::to_string).collect();
    key.sort_unstable();
    key
}

fn union(left: &[Factor], right: &[Factor]) -> Option<Product> {
    let mut product = left.to_vec();
    for factor in right {
        if !product.contains(factor) {
            product.push(factor.clone());
        }
    }
    (product.len() <= MOST_FACTORS).then_some(product)
}

/// The items of a sum.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) intercept: bool,
    pub(super) terms: Vec<Spanned<Term>>,
    pub(super) groups: Vec<Spanned<Group>>,
    pub(super) offsets: Vec<Spanned<Expression>>,
    seen: HashSet<Vec<String>>,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            intercept: true,
            terms: Vec::new(),
            groups: Vec::new(),
            offsets: Vec::new(),
            seen: HashSet::new(),
        }
    }
}

impl Sum {
    pub(super) fn add(&mut self, terms: Terms, span: &Span) {
        for product in terms.list {
            if self.seen.insert(key(&product)) {
                self.terms.push(Spanned { node: Term::Product(product), span: span.clone() });
            }
        }
    }

    /// Adds `.`, once; a second one brings back the columns that were removed.
    pub(super) fn dot(&mut self, span: Span) {
        match self.exceptions() {
            Some(except) => except.clear(),
            None => self.terms.push(Spanned { node: Term::Others { except: Vec::new() }, span }),
        }
    }

    /// Removes terms; a column may also be removed from a `.` before.
    pub(super) fn remove(&mut self, terms: &Terms, span: &Span) -> Result<()> {
        let mut found = false;
        for product in &terms.list {
            let gone = key(product);
            if self.seen.remove(&gone) {
                found = true;
                self.terms.retain(|term| !matches!(&term.node, Term::Product(other) if key(other) == gone));
            }
            if let ([Factor::Column(name)], Some(except)) = (product.as_slice(), self.exceptions()) {
                found = true;
                if !except.contains(name) {
                    except.push(name.clone());
                }
            }
        }
        if found { Ok(()) } else { Err(Error::Formula(BadFormula::NothingToRemove { span: span.clone() })) }
    }

    fn exceptions(&mut self) -> Option<&mut Vec<String>> {
        self.terms.iter_mut().find_map(|term| match &mut term.node {
            Term::Others { except } => Some(except),
            Term::Product(_) => None,
        })
    }

    /// Terms with fewer factors first, otherwise in the order written.
    pub(super) fn sort(&mut self) {
        self.terms.sort_by_key(|term| match &term.node {
            Term::Product(factors) => factors.len(),
            Term::Others { .. } => 1,
        });
    }

    /// The products alone, for a sum in parentheses.
    pub(super) fn into_terms(self) -> Terms {
        let mut terms = Terms::default();
        for term in self.terms {
            if let Term::Product(product) = term.node {
                terms.push(product);
            }
        }
        terms
    }
}
