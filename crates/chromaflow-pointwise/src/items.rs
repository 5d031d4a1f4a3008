//! Items of the subset: structs, enums, constants, functions.

use crate::body::Body;
use crate::types::{Passing, Type};
use crate::{EmitError, Source, fault};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use syn::spanned::Spanned;

/// A struct.
pub(crate) struct Struct {
    /// Names of its generic constants, after the scalar.
    pub(crate) constants: Vec<String>,
    pub(crate) fields: Vec<(String, Type)>,
}

/// A function.
pub(crate) struct Function {
    pub(crate) path: String,
    pub(crate) module: String,
    pub(crate) name: String,
    pub(crate) public: bool,
    /// Names of its generic constants, after the scalar.
    pub(crate) constants: Vec<String>,
    pub(crate) parameters: Vec<(String, Type, Passing)>,
    pub(crate) result: Type,
    syntax: syn::ItemFn,
}

/// A constant.
struct Constant {
    path: String,
    name: String,
    ty: Type,
    syntax: syn::ItemConst,
}

/// All items of all files.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) structs: BTreeMap<String, Struct>,
    /// Names of structs, in order of definition.
    order: Vec<String>,
    pub(crate) enums: BTreeMap<String, Vec<String>>,
    /// Module of each enum and struct.
    pub(crate) modules: BTreeMap<String, String>,
    constants: Vec<Constant>,
    pub(crate) functions: Vec<Function>,
    /// Names that locals must not take.
    pub(crate) taken: BTreeSet<String>,
}

/// What every emitted file starts with.
const PRELUDE: &str = r#"// Emitted from Rust by chromaflow-pointwise: edit the Rust files that the #line marks name.
#pragma once
namespace pointwise {
template <class A, int N> struct Array {
    A v[N];
    __device__ constexpr A& operator[](int i) { return v[i]; }
    __device__ constexpr const A& operator[](int i) const { return v[i]; }
};
template <class A, class... B> __device__ __forceinline__ Array<A, 1 + int(sizeof...(B))> array_of(A a, B... b) { return {{a, b...}}; }
template <int N, class A> __device__ __forceinline__ Array<A, N> array_fill(A a) {
    Array<A, N> out;
    #pragma unroll
    for (int i = 0; i < N; ++i) out.v[i] = a;
    return out;
}
template <class A, class B> struct Tuple2 { A _0; B _1; };
template <class A, class B, class C> struct Tuple3 { A _0; B _1; C _2; };
template <class A, class B, class C, class D> struct Tuple4 { A _0; B _1; C _2; D _3; };
template <class A, class B> __device__ __forceinline__ Tuple2<A, B> tuple_of(A a, B b) { return {a, b}; }
template <class A, class B, class C> __device__ __forceinline__ Tuple3<A, B, C> tuple_of(A a, B b, C c) { return {a, b, c}; }
template <class A, class B, class C, class D> __device__ __forceinline__ Tuple4<A, B, C, D> tuple_of(A a, B b, C c, D d) { return {a, b, c, d}; }
template <class T> __device__ __forceinline__ T select(bool mask, T yes, T no) { return mask ? yes : no; }
template <class T> __device__ __forceinline__ T real_min(T a, T b) { return a < b ? a : b; }
template <class T> __device__ __forceinline__ T real_max(T a, T b) { return a > b ? a : b; }
// Quotients and square roots in double: rounded to nearest or, with QUICK, from approximations r of 20 bits by one step of third
// order, r (1 + e + e^2) or r (1 + e/2 + 3 e^2/8) where e is what r leaves: a rounding or two away and without branches.
// There divisors below 1e-307 and above 1e307 give no numbers, and roots of numbers below 1e-307 are zero.
template <class A, class B> __device__ __forceinline__ auto quotient(A a, B b) { return a / b; }
#if QUICK
__device__ __forceinline__ double quotient(double a, double b) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    const double e = fma(-b, r, 1.0);
    return a * fma(r, fma(e, e, e), r);
}
__device__ __forceinline__ double real_rsqrt(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    const double e = fma(-x * r, r, 1.0);
    return fma(r * e, fma(0.375, e, 0.5), r);
}
__device__ __forceinline__ double real_sqrt(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    const double root = x * r, e = fma(-root, r, 1.0);
    const bool zero = 2u * unsigned(__double2hiint(x)) < 0x200000u;
    return zero ? 0.0 : fma(root * e, fma(0.375, e, 0.5), root);
}
#else
__device__ __forceinline__ double real_rsqrt(double x) { return rsqrt(x); }
__device__ __forceinline__ double real_sqrt(double x) { return sqrt(x); }
#endif
__device__ __forceinline__ float real_rsqrt(float x) { return rsqrtf(x); }
__device__ __forceinline__ float real_sqrt(float x) { return sqrtf(x); }
__device__ __forceinline__ double real_abs(double x) { return fabs(x); }
__device__ __forceinline__ float real_abs(float x) { return fabsf(x); }
__device__ __forceinline__ double real_exp(double x) { return exp(x); }
__device__ __forceinline__ float real_exp(float x) { return expf(x); }
__device__ __forceinline__ double real_ln(double x) { return log(x); }
__device__ __forceinline__ float real_ln(float x) { return logf(x); }
__device__ __forceinline__ double real_atan(double x) { return atan(x); }
__device__ __forceinline__ float real_atan(float x) { return atanf(x); }
__device__ __forceinline__ double real_powf(double x, double y) { return pow(x, y); }
__device__ __forceinline__ float real_powf(float x, float y) { return powf(x, y); }
"#;

impl Program {
    pub(crate) fn parse(sources: &[Source<'_>]) -> Result<Self, EmitError> {
        let mut program = Self::default();
        let mut files = Vec::new();
        for source in sources {
            let file =
                syn::parse_file(source.text).map_err(|e| fault(source.path, e.span(), e.to_string()))?;
            for item in &file.items {
                match item {
                    syn::Item::Enum(e) => program.add_enum(source, e)?,
                    syn::Item::Struct(s) => {
                        program.modules.insert(s.ident.to_string(), source.module.to_owned());
                        let empty = Struct { constants: Vec::new(), fields: Vec::new() };
                        program.structs.insert(s.ident.to_string(), empty);
                    }
                    _ => {}
                }
            }
            files.push(file);
        }
        for (source, file) in sources.iter().zip(&files) {
            for item in &file.items {
                if let syn::Item::Struct(s) = item {
                    program.add_struct(source, s)?;
                }
            }
        }
        for (source, file) in sources.iter().zip(&files) {
            for item in &file.items {
                program.add(source, item)?;
            }
        }
        program.sort_structs();
        Ok(program)
    }

    fn add_enum(&mut self, source: &Source<'_>, e: &syn::ItemEnum) -> Result<(), EmitError> {
        let mut variants = Vec::new();
        for v in &e.variants {
            if !v.fields.is_empty() {
                return Err(fault(source.path, v.span(), "enums of the subset carry no data"));
            }
            variants.push(v.ident.to_string());
        }
        self.modules.insert(e.ident.to_string(), source.module.to_owned());
        self.taken.insert(e.ident.to_string());
        self.enums.insert(e.ident.to_string(), variants);
        Ok(())
    }

    fn add_struct(&mut self, source: &Source<'_>, s: &syn::ItemStruct) -> Result<(), EmitError> {
        let syn::Fields::Named(named) = &s.fields else {
            return Err(fault(source.path, s.span(), "structs of the subset have named fields"));
        };
        let constants = generics(source.path, &s.generics)?;
        let mut fields = Vec::new();
        for f in &named.named {
            let name = f.ident.as_ref().expect("a named field").to_string();
            fields.push((name, Type::parse(self, source.path, &f.ty)?));
        }
        self.taken.insert(s.ident.to_string());
        self.order.push(s.ident.to_string());
        self.structs.insert(s.ident.to_string(), Struct { constants, fields });
        Ok(())
    }

    fn add(&mut self, source: &Source<'_>, item: &syn::Item) -> Result<(), EmitError> {
        match item {
            // Host side, or already added.
            syn::Item::Use(_)
            | syn::Item::Static(_)
            | syn::Item::Mod(_)
            | syn::Item::Impl(_)
            | syn::Item::Enum(_)
            | syn::Item::Struct(_) => Ok(()),
            syn::Item::Const(c) => {
                let ty = Type::parse(self, source.path, &c.ty)?;
                self.taken.insert(c.ident.to_string());
                let name = c.ident.to_string();
                self.constants.push(Constant { path: source.path.to_owned(), name, ty, syntax: c.clone() });
                Ok(())
            }
            syn::Item::Fn(f) => self.add_function(source, f),
            other => Err(fault(
                source.path,
                other.span(),
                "this item is not in the subset: write functions, structs, enums and constants",
            )),
        }
    }

    fn add_function(&mut self, source: &Source<'_>, f: &syn::ItemFn) -> Result<(), EmitError> {
        let name = f.sig.ident.to_string();
        let constants = generics(source.path, &f.sig.generics)?;
        let mut parameters = Vec::new();
        for input in &f.sig.inputs {
            let syn::FnArg::Typed(p) = input else {
                return Err(fault(source.path, input.span(), "methods are not in the subset"));
            };
            let syn::Pat::Ident(ident) = &*p.pat else {
                return Err(fault(
                    source.path,
                    p.pat.span(),
                    "give the argument a plain name and take it apart inside",
                ));
            };
            let (ty, passing) = match &*p.ty {
                syn::Type::Reference(r) if r.mutability.is_some() => (&*r.elem, Passing::Mutable),
                syn::Type::Reference(r) => (&*r.elem, Passing::Shared),
                other => (other, Passing::Value),
            };
            parameters.push((ident.ident.to_string(), Type::parse(self, source.path, ty)?, passing));
        }
        let result = match &f.sig.output {
            syn::ReturnType::Default => Type::Unit,
            syn::ReturnType::Type(_, ty) => Type::parse(self, source.path, ty)?,
        };
        if !self.taken.insert(name.clone()) {
            return Err(fault(
                source.path,
                f.sig.ident.span(),
                format!("`{name}` is already the name of another item: all files share one C++ namespace"),
            ));
        }
        self.functions.push(Function {
            path: source.path.to_owned(),
            module: source.module.to_owned(),
            name,
            public: matches!(f.vis, syn::Visibility::Public(_)),
            constants,
            parameters,
            result,
            syntax: f.clone(),
        });
        Ok(())
    }

    /// Structs after those that they contain.
    fn sort_structs(&mut self) {
        fn visit(program: &Program, name: &str, done: &mut Vec<String>) {
            if done.iter().any(|d| d == name) {
                return;
            }
            for (_, ty) in &program.structs[name].fields {
                let mut ty = ty;
                while let Type::Array(element, _) = ty {
                    ty = element;
                }
                if let Type::Struct(inner, _) = ty {
                    visit(program, inner, done);
                }
            }
            done.push(name.to_owned());
        }
        let mut done = Vec::new();
        for name in &self.order {
            visit(self, name, &mut done);
        }
        self.order = done;
    }

    /// The device functions.
    pub(crate) fn cuda(&self) -> Result<String, EmitError> {
        let mut out = PRELUDE.to_owned();
        for (name, variants) in &self.enums {
            let _ = writeln!(out, "enum class {name} : int {{ {} }};", variants.join(", "));
        }
        for name in &self.order {
            let s = &self.structs[name];
            let head = template(&s.constants);
            let fields: Vec<String> = s.fields.iter().map(|(f, ty)| format!("{} {f};", ty.cpp())).collect();
            let _ = writeln!(out, "{head} struct {name} {{ {} }};", fields.join(" "));
            let whole = Type::Struct(name.clone(), s.constants.clone()).cpp();
            let parameters: Vec<String> =
                s.fields.iter().map(|(f, ty)| format!("{} {f}", ty.cpp())).collect();
            let names: Vec<&str> = s.fields.iter().map(|(f, _)| f.as_str()).collect();
            let _ = writeln!(
                out,
                "{head} __device__ __forceinline__ {whole} make_{name}({}) {{ return {{{}}}; }}",
                parameters.join(", "),
                names.join(", ")
            );
        }
        for c in &self.constants {
            let mut body = Body::new(self, &c.path);
            let value = body.constant(&c.ty, &c.syntax.expr)?;
            let _ = writeln!(out, "static __device__ constexpr {} {} = {value};", c.ty.cpp(), c.name);
        }
        for f in &self.functions {
            let _ = writeln!(out, "{};", f.signature());
        }
        for f in &self.functions {
            let mut body = Body::new(self, &f.path);
            for (name, _, _) in &f.parameters {
                body.declare_parameter(name);
            }
            let line = f.syntax.sig.ident.span().start().line;
            let text = body.function(&f.syntax.block, f.result != Type::Unit)?;
            let _ = writeln!(out, "#line {line} \"{}\"\n{} {text}", f.path, f.signature());
        }
        out.push_str("} // namespace pointwise\n");
        Ok(out)
    }
}

impl Function {
    fn signature(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|(name, ty, passing)| {
                let name = crate::body::plain_name(name);
                match passing {
                    Passing::Value => format!("{} {name}", ty.cpp()),
                    Passing::Shared => format!("const {}& {name}", ty.cpp()),
                    Passing::Mutable => format!("{}& {name}", ty.cpp()),
                }
            })
            .collect();
        format!(
            "{} __device__ __forceinline__ {} {}({})",
            template(&self.constants),
            self.result.cpp(),
            self.name,
            parameters.join(", ")
        )
    }
}

fn template(constants: &[String]) -> String {
    let mut parameters = vec!["class T".to_owned()];
    parameters.extend(constants.iter().map(|c| format!("int {c}")));
    format!("template <{}>", parameters.join(", "))
}

/// Names of the generic constants; the first parameter must be the scalar T.
fn generics(path: &str, g: &syn::Generics) -> Result<Vec<String>, EmitError> {
    let mut constants = Vec::new();
    for (i, p) in g.params.iter().enumerate() {
        match p {
            syn::GenericParam::Type(t) if i == 0 && t.ident == "T" => {}
            syn::GenericParam::Const(c) if i > 0 => constants.push(c.ident.to_string()),
            other => return Err(fault(path, other.span(), "generic parameters are T, then constants")),
        }
    }
    if g.params.is_empty() {
        return Err(fault(path, g.span(), "give it the scalar as its first generic parameter, <T: Real>"));
    }
    Ok(constants)
}
