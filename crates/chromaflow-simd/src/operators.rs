//! The operators of a vector type, from an expression for each.

/// Implements `+ - * /`, their assigning forms and negation, with attributes that say how they are inlined.
macro_rules! operators {
    ($(#[$inline:meta])* [$($generics:tt)*] $type:ty: |$a:ident, $b:ident| $add:expr, $sub:expr, $mul:expr, $div:expr, |$c:ident| $neg:expr) => {
        $crate::operators::operators!(@ $(#[$inline])* [$($generics)*] $type, $a, $b, Add add AddAssign add_assign $add);
        $crate::operators::operators!(@ $(#[$inline])* [$($generics)*] $type, $a, $b, Sub sub SubAssign sub_assign $sub);
        $crate::operators::operators!(@ $(#[$inline])* [$($generics)*] $type, $a, $b, Mul mul MulAssign mul_assign $mul);
        $crate::operators::operators!(@ $(#[$inline])* [$($generics)*] $type, $a, $b, Div div DivAssign div_assign $div);
        impl<$($generics)*> std::ops::Neg for $type {
            type Output = Self;
            $(#[$inline])*
            fn neg(self) -> Self {
                let $c = self;
                $neg
            }
        }
    };
    (@ $(#[$inline:meta])* [$($generics:tt)*] $type:ty, $a:ident, $b:ident, $op:ident $fn:ident $assign:ident $fn_assign:ident $value:expr) => {
        impl<$($generics)*> std::ops::$op for $type {
            type Output = Self;
            $(#[$inline])*
            fn $fn(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $value
            }
        }
        impl<$($generics)*> std::ops::$assign for $type {
            #[inline(always)]
            fn $fn_assign(&mut self, other: Self) {
                *self = std::ops::$op::$fn(*self, other);
            }
        }
    };
}
pub(crate) use operators;
