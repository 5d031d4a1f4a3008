use crate::{Source, emit};

fn cuda(text: &str) -> Result<String, String> {
    let source = Source { path: "src/x.rs", module: "crate::x", text };
    emit(&[source]).map(|o| o.cuda).map_err(|e| e.to_string())
}

/// Without the `#line` marks and with single spaces, so that claims about the text are easy to read.
fn plain(text: &str) -> String {
    let cuda = cuda(text).unwrap();
    let kept: Vec<&str> = cuda.lines().filter(|l| !l.starts_with('#')).collect();
    kept.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn shadowed_names_and_taken_names_get_their_own() {
    let out = plain(
        "pub fn flux<T: Real>(x: T) -> T { x }
         pub fn g<T: Real>(x: T) -> T { let x = x + x; let flux = flux(x); let new = flux; let x = x * new; x }",
    );
    assert!(out.contains("const auto x_2 = (x + x);"), "{out}");
    assert!(out.contains("const auto flux_2 = flux(x_2);"), "{out}");
    assert!(out.contains("const auto new_ = flux_2;"), "{out}");
    assert!(out.contains("const auto x_3 = (x_2 * new_); return x_3;"), "{out}");
}

#[test]
fn the_value_of_a_shadowing_let_sees_the_old_name() {
    let out = plain("pub fn f<T: Real>(a: T) -> T { for k in 0..2 { let a = a * T::c(0.5); } a }");
    assert!(out.contains("const auto a_2 = (a * T(0.5));") && out.contains("} return a;"), "{out}");
}

#[test]
fn ifs_as_values_and_as_statements() {
    let out = plain(
        "pub enum Kind { A, B }
         pub fn f<T: Real>(kind: Kind, k: usize, x: T) -> T {
             if kind == Kind::A { return x; }
             let y = if k == 0 { x } else if k == 1 { -x } else { T::c(2.0) };
             let z = if k == 2 { let w = x * y; w + y } else { y };
             match kind { Kind::A => z, _ => { let q = z; q * q } }
         }",
    );
    assert!(out.contains("enum class Kind : int { A, B };"), "{out}");
    assert!(out.contains("if ((kind == Kind::A)) { return x; }"), "{out}");
    assert!(out.contains("((k == 0) ? x : ((k == 1) ? (-x) : T(2.0)))"), "{out}");
    assert!(out.contains("= [&]() { if ((k == 2)) { const auto w = (x * y); return (w + y); }"), "{out}");
    assert!(
        out.contains("if (kind == Kind::A) { return z; } else { { const auto q = z; return (q * q); } }"),
        "{out}"
    );
}

#[test]
fn structs_come_in_order_and_their_makers_in_theirs() {
    let out = plain(
        "pub struct Outer<T> { pub inner: [Inner<T, 2>; 3], pub x: T }
         pub struct Inner<T, const N: usize> { pub v: [T; N] }
         pub fn f<T: Real>(x: T) -> Outer<T> {
             let inner = Inner { v: [x; 2] };
             Outer { x: x + x, inner: [inner; 3] }
         }",
    );
    assert!(out.find("struct Inner").unwrap() < out.find("struct Outer").unwrap(), "{out}");
    assert!(out.contains("struct Outer { Array<Inner<T, 2>, 3> inner; T x; };"), "{out}");
    assert!(out.contains("make_Outer(array_fill<3>(inner), (x + x))"), "{out}");
}

#[test]
fn lines_lead_back_to_the_rust_text() {
    let out = cuda("\n\npub fn f<T: Real>(x: T) -> T {\n    let y = x;\n    y\n}").unwrap();
    assert!(out.contains("#line 3 \"src/x.rs\"\n"), "{out}");
    assert!(out.contains("#line 4 \"src/x.rs\"\nconst auto y = x;"), "{out}");
}

#[test]
fn constants_spell_their_types() {
    let out = plain("const FACES: [[usize; 2]; 2] = [[0, 1], [1, 2]];\npub fn f<T: Real>(x: T) -> T { x }");
    assert!(
        out.contains("constexpr Array<Array<int, 2>, 2> FACES = Array<Array<int, 2>, 2>{{Array<int, 2>{{0, 1}}, Array<int, 2>{{1, 2}}}};"),
        "{out}"
    );
}

/// Everything outside the subset is an error at its place.
#[test]
fn outside_the_subset() {
    for (text, line, word) in [
        ("pub fn f<T: Real>(x: T) -> T {\n    let g = |y: T| y;\n    g(x)\n}", 2, "expression"),
        ("pub fn f<T: Real>(x: T) -> T {\n    while true {}\n    x\n}", 2, "expression"),
        ("pub fn f<T: Real>(x: T) -> T {\n    x.sin()\n}", 2, "`sin`"),
        ("pub fn f<T: Real>(x: T) -> T {\n    unknown(x)\n}", 2, "not among"),
        ("pub fn f<T: Real>(x: &[T]) -> T {\n    x[0]\n}", 1, "type"),
        ("pub fn f<T: Real>(x: T) -> T {\n    let y = {\n        return x;\n    };\n    y\n}", 3, "return"),
        ("pub fn f<T: Real>(x: T) -> T {\n    let y;\n    y = x;\n    y\n}", 2, "value here"),
        ("pub fn f<T: Real>(x: T) -> T {\n    for i in x {}\n    x\n}", 2, "0..5"),
        ("pub fn f<T: Real>(x: T) -> T {\n    println!(\"x\");\n    x\n}", 2, "statement"),
        ("pub fn f(x: f64) -> f64 { x }", 1, "scalar"),
        ("pub enum E { A(u8) }", 1, "no data"),
        ("pub trait A {}", 1, "item"),
        ("pub fn f<T: Real>(x: T) -> T { x }\npub fn f<T: Real>(x: T) -> T { x }", 2, "already"),
        ("pub fn f<T: Real>(x: T -> T {", 1, "parse"),
    ] {
        let error = cuda(text).unwrap_err();
        assert!(error.starts_with(&format!("src/x.rs:{line}:")) && error.contains(word), "{text}\n{error}");
    }
}

#[test]
fn entries_lay_arguments_out_in_a_row() {
    let text = "pub struct Gas<T> { pub gamma: T }
        pub enum Law { One, Two }
        pub fn f<T: Real>(gas: Gas<T>, law: Law, w: &[T; 5], n: &[T; 3]) -> ([T; 2], T) { ([gas.gamma, w[0]], n[0]) }
        fn hidden<T: Real>(x: T) -> T { x }";
    let out = emit(&[Source { path: "x.rs", module: "crate::x", text }]).unwrap();
    assert!(out.rust_entries.contains("Entry { name: \"f\", signs: \"++---+---\", outputs: 3, choices: 2 }"));
    assert!(out.rust_entries.contains("[crate::x::Law::One, crate::x::Law::Two][choice % 2]"));
    assert!(out.rust_entries.contains("&[x[1], x[2], x[3], x[4], x[5]]"));
    assert!(out.test_kernels.contains("out[2 * n + i] = r._1;"));
    assert!(!out.test_kernels.contains("hidden"));
}
