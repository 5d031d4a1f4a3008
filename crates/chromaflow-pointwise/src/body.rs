//! Function bodies: statements and expressions.

use crate::items::Program;
use crate::types::Type;
use crate::{EmitError, fault};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Pat, Stmt, UnOp};

/// Where a block's last expression goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// Nowhere: the block is a statement.
    Dropped,
    /// It is what the function, or the lambda made of a block, returns.
    Returned,
}

/// Words of C++ and CUDA that Rust allows as names.
const RESERVED: [&str; 31] = [
    "auto",
    "bool",
    "char",
    "class",
    "constexpr",
    "default",
    "delete",
    "double",
    "float",
    "friend",
    "goto",
    "int",
    "inline",
    "long",
    "namespace",
    "new",
    "operator",
    "private",
    "public",
    "register",
    "short",
    "signed",
    "static",
    "switch",
    "template",
    "this",
    "union",
    "unsigned",
    "void",
    "volatile",
    "near",
];

/// The C++ name of a Rust name that C++ might reserve.
pub(crate) fn plain_name(name: &str) -> String {
    if RESERVED.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

pub(crate) struct Body<'a> {
    program: &'a Program,
    path: &'a str,
    /// C++ names of locals, innermost scope last.
    scopes: Vec<HashMap<String, String>>,
    used: HashSet<String>,
    /// Depth of lambdas: no `return` there.
    lambdas: usize,
    temporaries: usize,
}

impl<'a> Body<'a> {
    pub(crate) fn new(program: &'a Program, path: &'a str) -> Self {
        let scopes = vec![HashMap::new()];
        Self { program, path, scopes, used: HashSet::new(), lambdas: 0, temporaries: 0 }
    }

    fn fault(&self, at: &impl Spanned, message: impl Into<String>) -> EmitError {
        fault(self.path, at.span(), message)
    }

    pub(crate) fn declare_parameter(&mut self, name: &str) {
        let cpp = plain_name(name);
        self.used.insert(cpp.clone());
        self.scopes.last_mut().expect("a scope").insert(name.to_owned(), cpp);
    }

    /// A new local: its own C++ name within the function, unlike that of any item.
    fn declare(&mut self, name: &str) -> String {
        let base = plain_name(name);
        let mut cpp = base.clone();
        let mut count = 1;
        while self.program.taken.contains(&cpp) || !self.used.insert(cpp.clone()) {
            count += 1;
            cpp = format!("{base}_{count}");
        }
        self.scopes.last_mut().expect("a scope").insert(name.to_owned(), cpp.clone());
        cpp
    }

    fn lookup(&self, name: &str) -> Option<&String> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("part_{}_", self.temporaries)
    }

    /// A function's body with its braces.
    pub(crate) fn function(&mut self, block: &syn::Block, has_value: bool) -> Result<String, EmitError> {
        self.block(block, if has_value { Tail::Returned } else { Tail::Dropped })
    }

    fn block(&mut self, block: &syn::Block, tail: Tail) -> Result<String, EmitError> {
        self.scopes.push(HashMap::new());
        let mut out = "{\n".to_owned();
        for statement in &block.stmts {
            let line = statement.span().start().line;
            let _ = writeln!(out, "#line {line} \"{}\"", self.path);
            out.push_str(&self.statement(statement, tail)?);
        }
        out.push_str("}\n");
        self.scopes.pop();
        Ok(out)
    }

    fn statement(&mut self, statement: &Stmt, tail: Tail) -> Result<String, EmitError> {
        match statement {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(e, semicolon) => {
                let tail = if semicolon.is_some() { Tail::Dropped } else { tail };
                self.expression_statement(e, tail)
            }
            other => Err(self.fault(other, "this statement is not in the subset")),
        }
    }

    fn local(&mut self, local: &syn::Local) -> Result<String, EmitError> {
        let Some(init) = &local.init else {
            return Err(self.fault(local, "give the local its value here"));
        };
        if init.diverge.is_some() {
            return Err(self.fault(local, "`let ... else` is not in the subset"));
        }
        let value = self.expression(&init.expr)?;
        let (pattern, ty) = match &local.pat {
            Pat::Type(t) => (&*t.pat, Some(Type::parse(self.program, self.path, &t.ty)?)),
            other => (other, None),
        };
        if let Pat::Ident(ident) = pattern {
            let ty = ty.map_or_else(|| "auto".to_owned(), |t| t.cpp());
            let qualifier = if ident.mutability.is_some() { "" } else { "const " };
            return Ok(format!("{qualifier}{ty} {} = {value};\n", self.declare(&ident.ident.to_string())));
        }
        let whole = self.temporary();
        let mut out = format!("const auto {whole} = {value};\n");
        let (parts, is_array) = match pattern {
            Pat::Slice(s) => (&s.elems, true),
            Pat::Tuple(t) => (&t.elems, false),
            other => {
                return Err(
                    self.fault(other, "this pattern is not in the subset: a name, `[a, b]` or `(a, b)`")
                );
            }
        };
        for (i, part) in parts.iter().enumerate() {
            match part {
                Pat::Wild(_) => {}
                Pat::Ident(ident) => {
                    let qualifier = if ident.mutability.is_some() { "" } else { "const " };
                    let name = self.declare(&ident.ident.to_string());
                    let from = if is_array { format!("{whole}[{i}]") } else { format!("{whole}._{i}") };
                    let _ = writeln!(out, "{qualifier}auto {name} = {from};");
                }
                other => return Err(self.fault(other, "patterns of the subset do not nest")),
            }
        }
        Ok(out)
    }

    fn expression_statement(&mut self, e: &Expr, tail: Tail) -> Result<String, EmitError> {
        match e {
            Expr::ForLoop(f) => self.for_loop(f),
            Expr::If(i) if tail == Tail::Dropped || !is_simple_if(i) => self.if_statement(i, tail),
            Expr::Match(m) => self.match_statement(m, tail),
            Expr::Block(b) => self.block(&b.block, tail),
            Expr::Return(r) => {
                if self.lambdas > 0 {
                    return Err(self
                        .fault(r, "no `return` inside a block that is a value: make the `if` a statement"));
                }
                match &r.expr {
                    Some(e) => Ok(format!("return {};\n", self.expression(e)?)),
                    None => Ok("return;\n".to_owned()),
                }
            }
            Expr::Assign(a) => {
                Ok(format!("{} = {};\n", self.expression(&a.left)?, self.expression(&a.right)?))
            }
            Expr::Binary(b) if assignment(&b.op).is_some() => {
                let op = assignment(&b.op).expect("just asked");
                Ok(format!("{} {op} {};\n", self.expression(&b.left)?, self.expression(&b.right)?))
            }
            other => {
                let value = self.expression(other)?;
                Ok(if tail == Tail::Returned { format!("return {value};\n") } else { format!("{value};\n") })
            }
        }
    }

    fn for_loop(&mut self, f: &syn::ExprForLoop) -> Result<String, EmitError> {
        let (Pat::Ident(i), Expr::Range(range)) = (&*f.pat, &*f.expr) else {
            return Err(self.fault(&f.expr, "loops of the subset are `for i in 0..5`"));
        };
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            return Err(self.fault(range, "give the loop both bounds"));
        };
        let compare = if matches!(range.limits, syn::RangeLimits::Closed(_)) { "<=" } else { "<" };
        let (start, end) = (self.expression(start)?, self.expression(end)?);
        self.scopes.push(HashMap::new());
        let name = self.declare(&i.ident.to_string());
        let body = self.block(&f.body, Tail::Dropped)?;
        self.scopes.pop();
        // An index that nothing asks for counts the steps of an iteration, too long to write out.
        let unroll = if name.starts_with('_') { "unroll 1" } else { "unroll" };
        Ok(format!("#pragma {unroll}\nfor (int {name} = {start}; {name} {compare} {end}; ++{name}) {body}"))
    }

    fn if_statement(&mut self, i: &syn::ExprIf, tail: Tail) -> Result<String, EmitError> {
        let mut out = format!("if ({}) {}", self.expression(&i.cond)?, self.block(&i.then_branch, tail)?);
        if let Some((_, other)) = &i.else_branch {
            out.push_str("else ");
            out.push_str(&self.expression_statement_in_braces(other, tail)?);
        }
        Ok(out)
    }

    /// An `else` branch: a block or another `if`, never shortened to `?:`.
    fn expression_statement_in_braces(&mut self, e: &Expr, tail: Tail) -> Result<String, EmitError> {
        match e {
            Expr::If(i) => self.if_statement(i, tail),
            Expr::Block(b) => self.block(&b.block, tail),
            other => Err(self.fault(other, "expected a block or `if`")),
        }
    }

    fn match_statement(&mut self, m: &syn::ExprMatch, tail: Tail) -> Result<String, EmitError> {
        let on = self.expression(&m.expr)?;
        let mut out = String::new();
        let count = m.arms.len();
        for (i, arm) in m.arms.iter().enumerate() {
            if let Some((_, guard)) = &arm.guard {
                return Err(self.fault(guard, "guards are not in the subset"));
            }
            let condition = self.pattern_condition(&on, &arm.pat)?;
            if i > 0 {
                out.push_str("else ");
            }
            // The last arm takes the rest: Rust has checked that the arms cover everything.
            if i + 1 < count {
                let _ = write!(out, "if ({condition}) ");
            }
            let body = self.expression_statement(&arm.body, tail)?;
            let _ = write!(out, "{{\n{body}}}\n");
        }
        Ok(out)
    }

    fn pattern_condition(&mut self, on: &str, pattern: &Pat) -> Result<String, EmitError> {
        match pattern {
            Pat::Wild(_) => Ok("true".to_owned()),
            Pat::Path(p) => Ok(format!("{on} == {}", self.path_expression(&p.path)?)),
            Pat::Lit(l) => Ok(format!("{on} == {}", self.literal(&l.lit)?)),
            Pat::Or(o) => {
                let cases =
                    o.cases.iter().map(|c| self.pattern_condition(on, c)).collect::<Result<Vec<_>, _>>()?;
                Ok(cases.join(" || "))
            }
            other => Err(self.fault(other, "arms of the subset are variants, numbers or `_`")),
        }
    }

    fn expression(&mut self, e: &Expr) -> Result<String, EmitError> {
        match e {
            Expr::Lit(l) => self.literal(&l.lit),
            Expr::Path(p) if p.qself.is_none() => self.path_expression(&p.path),
            Expr::Paren(p) => Ok(format!("({})", self.expression(&p.expr)?)),
            Expr::Group(g) => self.expression(&g.expr),
            Expr::Reference(r) => self.expression(&r.expr),
            Expr::Unary(u) => {
                let value = self.expression(&u.expr)?;
                match u.op {
                    UnOp::Neg(_) => Ok(format!("(-{value})")),
                    UnOp::Not(_) => Ok(format!("(!{value})")),
                    UnOp::Deref(_) => Ok(value),
                    _ => Err(self.fault(u, "unknown operator")),
                }
            }
            Expr::Binary(b) => {
                let Some(op) = operator(&b.op) else {
                    return Err(self.fault(b, "this operator is not in the subset here"));
                };
                let (left, right) = (self.expression(&b.left)?, self.expression(&b.right)?);
                // Quotients of numbers are the compiler's business.
                if op == "/" && !(is_number(&b.left) && is_number(&b.right)) {
                    return Ok(format!("quotient({left}, {right})"));
                }
                Ok(format!("({left} {op} {right})"))
            }
            Expr::Index(i) => Ok(format!("{}[{}]", self.expression(&i.expr)?, self.expression(&i.index)?)),
            Expr::Field(f) => {
                let base = self.expression(&f.base)?;
                Ok(match &f.member {
                    syn::Member::Named(n) => format!("{base}.{n}"),
                    syn::Member::Unnamed(n) => format!("{base}._{}", n.index),
                })
            }
            Expr::Call(c) => self.call(c),
            Expr::MethodCall(m) => self.method(m),
            Expr::Struct(s) => self.struct_literal(s),
            Expr::Array(a) => Ok(format!("array_of({})", self.list(&a.elems)?)),
            Expr::Repeat(r) => {
                Ok(format!("array_fill<{}>({})", self.expression(&r.len)?, self.expression(&r.expr)?))
            }
            Expr::Tuple(t) => Ok(format!("tuple_of({})", self.list(&t.elems)?)),
            Expr::If(i) if is_simple_if(i) => self.ternary(i),
            Expr::If(_) | Expr::Match(_) | Expr::Block(_) => {
                self.lambdas += 1;
                let body = self.expression_statement_value(e)?;
                self.lambdas -= 1;
                Ok(format!("[&]() {{\n{body}}}()"))
            }
            other => Err(self.fault(
                other,
                "this expression is not in the subset of chromaflow-pointwise (see its documentation)",
            )),
        }
    }

    fn expression_statement_value(&mut self, e: &Expr) -> Result<String, EmitError> {
        match e {
            Expr::If(i) => self.if_statement(i, Tail::Returned),
            other => self.expression_statement(other, Tail::Returned),
        }
    }

    fn ternary(&mut self, i: &syn::ExprIf) -> Result<String, EmitError> {
        let condition = self.expression(&i.cond)?;
        let yes = self.expression(only_expression(&i.then_branch).expect("a simple if"))?;
        let (_, other) = i.else_branch.as_ref().expect("a simple if");
        let no = match &**other {
            Expr::Block(b) => self.expression(only_expression(&b.block).expect("a simple if"))?,
            other => self.expression(other)?,
        };
        Ok(format!("({condition} ? {yes} : {no})"))
    }

    fn list<'e, P: 'e>(
        &mut self,
        elements: &'e syn::punctuated::Punctuated<Expr, P>,
    ) -> Result<String, EmitError> {
        let parts = elements.iter().map(|e| self.expression(e)).collect::<Result<Vec<_>, _>>()?;
        Ok(parts.join(", "))
    }

    fn literal(&self, lit: &syn::Lit) -> Result<String, EmitError> {
        match lit {
            syn::Lit::Int(n) => Ok(n.base10_digits().to_owned()),
            syn::Lit::Float(x) => {
                let digits = x.base10_digits();
                Ok(if digits.contains(['.', 'e', 'E']) { digits.to_owned() } else { format!("{digits}.0") })
            }
            syn::Lit::Bool(b) => Ok(b.value.to_string()),
            other => Err(self.fault(other, "this literal is not in the subset")),
        }
    }

    fn path_expression(&mut self, path: &syn::Path) -> Result<String, EmitError> {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        match names.as_slice() {
            [name] => Ok(self.lookup(name).cloned().unwrap_or_else(|| name.clone())),
            [name, variant] if self.program.enums.contains_key(name) => Ok(format!("{name}::{variant}")),
            _ => Err(self.fault(path, "unknown path: locals, constants and variants of emitted enums only")),
        }
    }

    fn call(&mut self, c: &syn::ExprCall) -> Result<String, EmitError> {
        let Expr::Path(p) = &*c.func else {
            return Err(self.fault(&c.func, "only functions by name can be called"));
        };
        let names: Vec<String> = p.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arguments = self.list(&c.args)?;
        match names.as_slice() {
            ["T", "c"] => Ok(format!("T({arguments})")),
            ["T", "select"] => Ok(format!("select<T>({arguments})")),
            [name] if self.program.functions.iter().any(|f| f.name == *name) => {
                let last = p.path.segments.last().expect("a segment");
                let mut generic = String::new();
                if let syn::PathArguments::AngleBracketed(list) = &last.arguments {
                    let mut parts = Vec::new();
                    for a in &list.args {
                        parts.push(match a {
                            syn::GenericArgument::Type(ty) => match ty {
                                syn::Type::Path(q) if q.path.get_ident().is_some() => {
                                    q.path.get_ident().expect("just asked").to_string()
                                }
                                ty => Type::parse(self.program, self.path, ty)?.cpp(),
                            },
                            syn::GenericArgument::Const(e) => self.expression(e)?,
                            other => return Err(self.fault(other, "unknown generic argument")),
                        });
                    }
                    generic = format!("<{}>", parts.join(", "));
                }
                Ok(format!("{name}{generic}({arguments})"))
            }
            _ => Err(self.fault(
                &c.func,
                "this function is not among the emitted files; of the scalar itself, T::c and T::select",
            )),
        }
    }

    fn method(&mut self, m: &syn::ExprMethodCall) -> Result<String, EmitError> {
        let on = self.expression(&m.receiver)?;
        let arguments = self.list(&m.args)?;
        let name = m.method.to_string();
        Ok(match (name.as_str(), m.args.len()) {
            ("lt", 1) => format!("({on} < {arguments})"),
            ("le", 1) => format!("({on} <= {arguments})"),
            ("gt", 1) => format!("({on} > {arguments})"),
            ("ge", 1) => format!("({on} >= {arguments})"),
            ("and", 1) => format!("({on} && {arguments})"),
            ("or", 1) => format!("({on} || {arguments})"),
            ("not", 0) => format!("(!{on})"),
            ("sqrt" | "rsqrt" | "abs" | "exp" | "ln" | "atan", 0) => format!("real_{name}({on})"),
            ("min" | "max" | "powf", 1) => format!("real_{name}({on}, {arguments})"),
            _ => {
                return Err(self.fault(
                    &m.method,
                    format!("no method `{name}` in the subset: sqrt, rsqrt, abs, exp, ln, atan, powf, min, max, lt, le, gt, ge, and, or, not"),
                ));
            }
        })
    }

    fn struct_literal(&mut self, s: &syn::ExprStruct) -> Result<String, EmitError> {
        let Some(name) = s.path.get_ident().map(ToString::to_string) else {
            return Err(self.fault(&s.path, "name the struct alone"));
        };
        let Some(definition) = self.program.structs.get(&name) else {
            return Err(self.fault(&s.path, "this struct is not among the emitted files"));
        };
        if s.rest.is_some() {
            return Err(self.fault(s, "`..` is not in the subset: give every field"));
        }
        let mut parts = Vec::new();
        for (field, _) in &definition.fields {
            let value = s.fields.iter().find(|f| matches!(&f.member, syn::Member::Named(n) if n == field));
            let Some(value) = value else {
                return Err(self.fault(s, format!("field `{field}` is not given")));
            };
            parts.push(self.expression(&value.expr)?);
        }
        Ok(format!("make_{name}({})", parts.join(", ")))
    }

    /// A constant's value with its types spelled out.
    pub(crate) fn constant(&mut self, ty: &Type, e: &Expr) -> Result<String, EmitError> {
        match (ty, e) {
            (Type::Array(element, _), Expr::Array(a)) => {
                let parts =
                    a.elems.iter().map(|e| self.constant(element, e)).collect::<Result<Vec<_>, _>>()?;
                Ok(format!("{}{{{{{}}}}}", ty.cpp(), parts.join(", ")))
            }
            _ => self.expression(e),
        }
    }
}

/// `if c { x } else { y }` with single expressions that are no blocks themselves.
fn is_simple_if(i: &syn::ExprIf) -> bool {
    let simple = |block: &syn::Block| only_expression(block).is_some_and(|e| !is_statement_like(e));
    simple(&i.then_branch)
        && i.else_branch.as_ref().is_some_and(|(_, other)| match &**other {
            Expr::Block(b) => simple(&b.block),
            Expr::If(i) => is_simple_if(i),
            _ => false,
        })
}

fn is_statement_like(e: &Expr) -> bool {
    matches!(e, Expr::Return(_) | Expr::Assign(_) | Expr::ForLoop(_))
        || matches!(e, Expr::Binary(b) if assignment(&b.op).is_some())
}

fn only_expression(block: &syn::Block) -> Option<&Expr> {
    match block.stmts.as_slice() {
        [Stmt::Expr(e, None)] => Some(e),
        _ => None,
    }
}

/// Whether an expression is made of literals.
fn is_number(e: &Expr) -> bool {
    match e {
        Expr::Lit(_) => true,
        Expr::Paren(p) => is_number(&p.expr),
        Expr::Group(g) => is_number(&g.expr),
        Expr::Unary(u) => is_number(&u.expr),
        Expr::Binary(b) => is_number(&b.left) && is_number(&b.right),
        _ => false,
    }
}

fn operator(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) => "+",
        BinOp::Sub(_) => "-",
        BinOp::Mul(_) => "*",
        BinOp::Div(_) => "/",
        BinOp::Rem(_) => "%",
        BinOp::And(_) => "&&",
        BinOp::Or(_) => "||",
        BinOp::Eq(_) => "==",
        BinOp::Ne(_) => "!=",
        BinOp::Lt(_) => "<",
        BinOp::Le(_) => "<=",
        BinOp::Gt(_) => ">",
        BinOp::Ge(_) => ">=",
        _ => return None,
    })
}

fn assignment(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "+=",
        BinOp::SubAssign(_) => "-=",
        BinOp::MulAssign(_) => "*=",
        BinOp::DivAssign(_) => "/=",
        _ => return None,
    })
}
