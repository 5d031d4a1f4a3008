//! Test kernels and their Rust side: each public function called on numbers in a row.

use crate::EmitError;
use crate::items::{Function, Program};
use crate::types::{Passing, Type};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Values of generic constants.
type Constants = BTreeMap<String, usize>;

/// Walks over a type's scalars in order, building the expression that reads them.
struct Reader<'a> {
    program: &'a Program,
    rust: bool,
    /// Scalars read so far, and whether each may be negative.
    signs: String,
    /// Product of the numbers of variants of enum arguments so far.
    choices: usize,
}

/// Public functions whose arguments and result can be laid out as numbers.
fn tested(program: &Program) -> impl Iterator<Item = &Function> {
    program.functions.iter().filter(|f| {
        f.public
            && f.constants.is_empty()
            && !matches!(f.result, Type::Unit | Type::Enum(_))
            && is_laid_out(&f.result)
            && f.parameters.iter().all(|(_, ty, passing)| *passing != Passing::Mutable && is_laid_out(ty))
    })
}

fn is_laid_out(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => is_laid_out(element),
        Type::Tuple(elements) => elements.iter().all(is_laid_out),
        Type::Mask | Type::Plain(_) | Type::Unit => false,
        Type::Scalar | Type::Struct(..) | Type::Enum(_) => true,
    }
}

fn number(n: &str, constants: &Constants) -> usize {
    n.parse().unwrap_or_else(|_| constants.get(n).copied().unwrap_or(0))
}

fn struct_constants(program: &Program, name: &str, given: &[String], outer: &Constants) -> Constants {
    let names = &program.structs[name].constants;
    names.iter().cloned().zip(given.iter().map(|g| number(g, outer))).collect()
}

impl Reader<'_> {
    fn read(&mut self, ty: &Type, constants: &Constants, signed: bool) -> String {
        match ty {
            Type::Scalar => {
                let k = self.signs.len();
                self.signs.push(if signed { '-' } else { '+' });
                if self.rust { format!("x[{k}]") } else { format!("in[{k} * n + i]") }
            }
            Type::Array(element, n) => {
                let n = number(n, constants);
                let vector = n == 3 && **element == Type::Scalar;
                let state = n == 5 && **element == Type::Scalar;
                let parts: Vec<String> = (0..n)
                    .map(|i| {
                        self.read(element, constants, signed || vector || (state && (1..4).contains(&i)))
                    })
                    .collect();
                let parts = parts.join(", ");
                if self.rust {
                    format!("[{parts}]")
                } else {
                    format!("{}{{{{{parts}}}}}", cpp(ty, constants))
                }
            }
            Type::Tuple(elements) => {
                let parts: Vec<String> = elements.iter().map(|e| self.read(e, constants, signed)).collect();
                if self.rust {
                    format!("({})", parts.join(", "))
                } else {
                    format!("{}{{{}}}", cpp(ty, constants), parts.join(", "))
                }
            }
            Type::Struct(name, given) => {
                let inner = struct_constants(self.program, name, given, constants);
                let parts: Vec<String> = self.program.structs[name]
                    .fields
                    .iter()
                    .map(|(field, ty)| {
                        let value = self.read(ty, &inner, signed);
                        if self.rust { format!("{field}: {value}") } else { value }
                    })
                    .collect();
                if self.rust {
                    format!("{}::{name} {{ {} }}", self.program.modules[name], parts.join(", "))
                } else {
                    format!("{}{{{}}}", cpp(ty, constants), parts.join(", "))
                }
            }
            Type::Enum(name) => {
                let variants = &self.program.enums[name];
                let rest = if self.choices == 1 { String::new() } else { format!(" / {}", self.choices) };
                let pick = format!("choice{rest} % {}", variants.len());
                self.choices *= variants.len();
                if self.rust {
                    let module = &self.program.modules[name];
                    let all: Vec<String> =
                        variants.iter().map(|v| format!("{module}::{name}::{v}")).collect();
                    format!("[{}][{pick}]", all.join(", "))
                } else {
                    format!("{name}({pick})")
                }
            }
            Type::Mask | Type::Plain(_) | Type::Unit => unreachable!("filtered by is_laid_out"),
        }
    }
}

/// C++ name of a type with T = double and constants put in.
fn cpp(ty: &Type, constants: &Constants) -> String {
    match ty {
        Type::Scalar => "double".to_owned(),
        Type::Array(element, n) => {
            format!("Array<{}, {}>", cpp(element, constants), number(n, constants))
        }
        Type::Tuple(elements) => {
            let names: Vec<String> = elements.iter().map(|e| cpp(e, constants)).collect();
            format!("Tuple{}<{}>", names.len(), names.join(", "))
        }
        Type::Struct(name, given) => {
            let mut arguments = vec!["double".to_owned()];
            arguments.extend(given.iter().map(|g| number(g, constants).to_string()));
            format!("{name}<{}>", arguments.join(", "))
        }
        other => other.cpp(),
    }
}

/// Expressions of a value's scalars, in order.
fn scalars(
    program: &Program,
    ty: &Type,
    constants: &Constants,
    value: &str,
    rust: bool,
    out: &mut Vec<String>,
) {
    match ty {
        Type::Scalar => out.push(value.to_owned()),
        Type::Array(element, n) => {
            for i in 0..number(n, constants) {
                scalars(program, element, constants, &format!("{value}[{i}]"), rust, out);
            }
        }
        Type::Tuple(elements) => {
            for (i, e) in elements.iter().enumerate() {
                let member = if rust { format!("{value}.{i}") } else { format!("{value}._{i}") };
                scalars(program, e, constants, &member, rust, out);
            }
        }
        Type::Struct(name, given) => {
            let inner = struct_constants(program, name, given, constants);
            for (field, ty) in &program.structs[name].fields {
                scalars(program, ty, &inner, &format!("{value}.{field}"), rust, out);
            }
        }
        Type::Enum(_) | Type::Mask | Type::Plain(_) | Type::Unit => {}
    }
}

/// A function's call and the expressions of its outputs.
struct Call {
    arguments: Vec<String>,
    outputs: Vec<String>,
    signs: String,
    choices: usize,
}

fn call(program: &Program, f: &Function, rust: bool) -> Call {
    let none = Constants::new();
    let mut reader = Reader { program, rust, signs: String::new(), choices: 1 };
    let arguments = f
        .parameters
        .iter()
        .map(|(_, ty, passing)| {
            let value = reader.read(ty, &none, false);
            if rust && *passing == Passing::Shared { format!("&{value}") } else { value }
        })
        .collect();
    let mut outputs = Vec::new();
    scalars(program, &f.result, &none, "r", rust, &mut outputs);
    Call { arguments, outputs, signs: reader.signs, choices: reader.choices }
}

/// One kernel per tested function.
#[expect(clippy::unnecessary_wraps, reason = "all parts of the output may fail")]
pub(crate) fn test_kernels(program: &Program) -> Result<String, EmitError> {
    let mut out = "using namespace pointwise;\n".to_owned();
    for f in tested(program) {
        let c = call(program, f, false);
        let _ = writeln!(
            out,
            "extern \"C\" __global__ void test_{}(int n, int choice, const double* in, double* out) {{\n\
             const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\n\
             const auto r = pointwise::{}<double>({});",
            f.name,
            f.name,
            c.arguments.join(", ")
        );
        for (k, value) in c.outputs.iter().enumerate() {
            let _ = writeln!(out, "out[{k} * n + i] = {value};");
        }
        out.push_str("}\n");
    }
    Ok(out)
}

/// `ENTRIES`, and `call` with a function for each entry: in one function, where all physics is inlined, compilers take many times as long.
#[expect(clippy::unnecessary_wraps, reason = "all parts of the output may fail")]
pub(crate) fn rust_entries(program: &Program) -> Result<String, EmitError> {
    let mut table = String::new();
    let (mut functions, mut arms) = (String::new(), String::new());
    for (i, f) in tested(program).enumerate() {
        let c = call(program, f, true);
        let _ = writeln!(
            table,
            "    Entry {{ name: {:?}, signs: {:?}, outputs: {}, choices: {} }},",
            f.name,
            c.signs,
            c.outputs.len(),
            c.choices
        );
        let _ = writeln!(
            functions,
            "#[inline(never)]\nfn entry_{i}<T: crate::real::Real>(choice: usize, x: &[T], y: &mut [T]) {{\n    \
             let _ = choice;\n    let r = {}::{}::<T>({});",
            f.module,
            f.name,
            c.arguments.join(", ")
        );
        for (k, value) in c.outputs.iter().enumerate() {
            let _ = writeln!(functions, "    y[{k}] = {value};");
        }
        functions.push_str("}\n");
        let _ = writeln!(arms, "        {i} => entry_{i}(choice, x, y),");
    }
    Ok(format!(
        "/// Every emitted public function.\npub const ENTRIES: &[Entry] = &[\n{table}];\n\n\
         /// Calls function number `entry` of [`ENTRIES`] on the scalars `x` in order, and writes its result's scalars to `y`.\n\
         pub fn call<T: crate::real::Real>(entry: usize, choice: usize, x: &[T], y: &mut [T]) {{\n    \
         match entry {{\n{arms}        _ => panic!(\"no function has the number {{entry}}\"),\n    }}\n}}\n\n{functions}"
    ))
}
