//! Types of the subset.

use crate::items::Program;
use crate::{EmitError, fault};
use syn::spanned::Spanned;

/// A type of the subset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// The generic scalar.
    Scalar,
    /// The outcome of a comparison.
    Mask,
    /// A number of a fixed type, by its C++ name.
    Plain(&'static str),
    /// An array and its length as written: a number or a generic constant.
    Array(Box<Type>, String),
    Tuple(Vec<Type>),
    /// A struct with its constant arguments (its scalar is always the function's).
    Struct(String, Vec<String>),
    Enum(String),
    Unit,
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    Value,
    Shared,
    Mutable,
}

impl Type {
    pub(crate) fn parse(program: &Program, path: &str, ty: &syn::Type) -> Result<Self, EmitError> {
        match ty {
            syn::Type::Path(p) if p.qself.is_none() => Self::parse_path(program, path, p),
            syn::Type::Array(a) => {
                Ok(Self::Array(Box::new(Self::parse(program, path, &a.elem)?), length(path, &a.len)?))
            }
            syn::Type::Tuple(t) if t.elems.is_empty() => Ok(Self::Unit),
            syn::Type::Tuple(t) if t.elems.len() <= 4 => t
                .elems
                .iter()
                .map(|e| Self::parse(program, path, e))
                .collect::<Result<_, _>>()
                .map(Self::Tuple),
            syn::Type::Paren(p) => Self::parse(program, path, &p.elem),
            other => Err(fault(
                path,
                other.span(),
                "this type is not in the subset: use scalars, arrays, tuples, structs, enums",
            )),
        }
    }

    fn parse_path(program: &Program, path: &str, p: &syn::TypePath) -> Result<Self, EmitError> {
        let names: Vec<String> = p.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let last = p.path.segments.last().expect("a path has a segment");
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(match names.as_slice() {
            ["T"] => Self::Scalar,
            ["T", "Mask"] => Self::Mask,
            ["f64"] => Self::Plain("double"),
            ["f32"] => Self::Plain("float"),
            ["bool"] => Self::Plain("bool"),
            ["usize" | "i32"] => Self::Plain("int"),
            ["u32"] => Self::Plain("unsigned"),
            [name] if program.enums.contains_key(*name) => Self::Enum((*name).to_owned()),
            [name] if program.structs.contains_key(*name) => {
                let mut constants = Vec::new();
                if let syn::PathArguments::AngleBracketed(list) = &last.arguments {
                    for argument in list.args.iter().skip(1) {
                        constants.push(match argument {
                            syn::GenericArgument::Const(e) => length(path, e)?,
                            syn::GenericArgument::Type(syn::Type::Path(q)) => q
                                .path
                                .require_ident()
                                .map(ToString::to_string)
                                .map_err(|e| fault(path, e.span(), "expected a constant"))?,
                            other => return Err(fault(path, other.span(), "expected a constant")),
                        });
                    }
                }
                Self::Struct((*name).to_owned(), constants)
            }
            _ => {
                return Err(fault(
                    path,
                    p.span(),
                    "unknown type: the scalar is called T; structs and enums must be in the emitted files",
                ));
            }
        })
    }

    /// Its C++ name.
    pub(crate) fn cpp(&self) -> String {
        match self {
            Self::Scalar => "T".to_owned(),
            Self::Mask => "bool".to_owned(),
            Self::Plain(name) => (*name).to_owned(),
            Self::Array(element, n) => format!("Array<{}, {n}>", element.cpp()),
            Self::Tuple(elements) => {
                let names: Vec<String> = elements.iter().map(Self::cpp).collect();
                format!("Tuple{}<{}>", names.len(), names.join(", "))
            }
            Self::Struct(name, constants) => {
                let mut arguments = vec!["T".to_owned()];
                arguments.extend(constants.iter().cloned());
                format!("{name}<{}>", arguments.join(", "))
            }
            Self::Enum(name) => name.clone(),
            Self::Unit => "void".to_owned(),
        }
    }
}

/// Length of an array: a number or the name of a generic constant.
fn length(path: &str, e: &syn::Expr) -> Result<String, EmitError> {
    match e {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => Ok(n.base10_digits().to_owned()),
        syn::Expr::Path(p) => p
            .path
            .require_ident()
            .map(ToString::to_string)
            .map_err(|_| fault(path, p.span(), "expected a number or a generic constant")),
        syn::Expr::Block(b) if b.block.stmts.len() == 1 => match &b.block.stmts[0] {
            syn::Stmt::Expr(e, None) => length(path, e),
            other => Err(fault(path, other.span(), "expected a number or a generic constant")),
        },
        other => Err(fault(path, other.span(), "expected a number or a generic constant")),
    }
}
