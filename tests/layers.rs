//! The structure of the source: who may use whom, and how long things may be.
//!
//! Every path that begins with `crate::` or `super::` is resolved, through re-exports, to the file
//! that defines what it names. Such an edge may not go up the layers, and the files may not form a
//! cycle. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The layers: each knows only those before it.
const LAYERS: [&str; 15] = [
    "error",
    "simd",
    "data",
    "kernel",
    "matrix",
    "qp",
    "linear",
    "formulation",
    "model",
    "search",
    "spectral",
    "bayes",
    "persist",
    "bench",
    "python",
];

/// A module: `["qp", "smo"]` for src/qp/smo.rs or src/qp/smo/mod.rs.
type Module = Vec<String>;

/// What is in a file, as far as it matters here.
#[derive(Default)]
struct File {
    /// Paths used by its code, relative to the file, beginning with `crate` or `super` or a child.
    used: Vec<Vec<String>>,
    /// Names that others can find here although they are defined elsewhere.
    exported: BTreeMap<String, Vec<String>>,
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn module_of(path: &Path) -> Module {
    let relative = path.strip_prefix(source()).expect("below src");
    let mut module: Module = relative
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        module.pop();
    }
    module
}

/// The code of a file without comments, strings and what stands behind `#[cfg(test)]`.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // One item follows: a module in a file of its own, a function, or a module to the end.
            let item = lines.next().unwrap_or_default();
            if item.trim_start().starts_with("mod ") && item.ends_with('{') {
                break;
            }
            continue;
        }
        let line = line.split("//").next().unwrap_or_default();
        code.extend(line.split('"').step_by(2));
        code.push('\n');
    }
    code
}

/// Expands `a::{b, c::{d, e as f}}` into `a::b`, `a::c::d`, `a::c::e`, each with the name it gets.
fn expand(tree: &str, prefix: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    for part in parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let head = part.split('{').next().unwrap_or_default();
        let (path, name) = head.split_once(" as ").unwrap_or((head, ""));
        let mut segments: Vec<String> = prefix.to_vec();
        let names = path
            .split("::")
            .map(str::trim)
            .filter(|name| !name.is_empty());
        segments.extend(names.map(String::from));
        match part.split_once('{') {
            Some((_, inner)) => expand(inner.strip_suffix('}').unwrap_or(inner), &segments, found),
            None => {
                let last = segments.last().cloned().unwrap_or_default();
                let name = if name.is_empty() {
                    last
                } else {
                    name.trim().into()
                };
                found.push((segments, name));
            }
        }
    }
}

fn parse(text: &str) -> File {
    let code = code_of(text);
    let mut file = File::default();
    let mut rest = String::new();
    // Statements that import, then whatever paths are spelled out in between.
    let mut begins = 0;
    while let Some(at) = code[begins..].find("use ").map(|at| at + begins) {
        let before = &code[begins..at];
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        let is_import = line.is_empty() || line.starts_with("pub");
        let end = code[at..].find(';').map_or(code.len(), |end| at + end);
        if !is_import {
            rest.push_str(&code[begins..at + 4]);
            begins = at + 4;
            continue;
        }
        rest.push_str(before);
        let mut paths = Vec::new();
        expand(&code[at + 4..end], &[], &mut paths);
        for (path, name) in paths {
            if line.starts_with("pub") {
                file.exported.insert(name, path);
            } else {
                file.used.push(path);
            }
        }
        begins = end;
    }
    rest.push_str(&code[begins..]);
    // A name that is handed on and used here as well.
    let declares = |line: &&str| !line.contains("mod ");
    let words: String = rest.lines().filter(declares).collect::<Vec<_>>().join(" ");
    let words = words.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words: BTreeSet<&str> = words.collect();
    for (name, path) in &file.exported {
        if words.contains(name.as_str()) {
            file.used.push(path.clone());
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in rest.match_indices(start) {
            let is_whole = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':');
            let path = rest[at..]
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                .next()
                .unwrap_or_default();
            if is_whole {
                let names = path.split("::").filter(|name| !name.is_empty());
                file.used.push(names.map(String::from).collect());
            }
        }
    }
    file
}

fn files() -> BTreeMap<Module, File> {
    let mut paths = Vec::new();
    rust_files(&source(), &mut paths);
    paths.retain(|path| !path.ends_with("tests.rs"));
    let read = |path: &PathBuf| parse(&fs::read_to_string(path).expect("text"));
    paths
        .iter()
        .map(|path| (module_of(path), read(path)))
        .collect()
}

/// Resolves a path used in a module to the module that defines what it names; None outside the crate.
fn resolve(files: &BTreeMap<Module, File>, from: &Module, path: &[String]) -> Option<Module> {
    let mut module = from.clone();
    let mut names = path.iter().peekable();
    match names.peek().map(|name| name.as_str()) {
        Some("crate") => {
            names.next();
            module.clear();
        }
        Some("super") => {
            while names.next_if(|name| *name == "super").is_some() {
                module.pop();
            }
        }
        Some("self") => {
            names.next();
        }
        Some(first) => {
            let mut child = module.clone();
            child.push(first.to_string());
            files.get(&child)?;
        }
        None => return None,
    }
    for name in names {
        let mut child = module.clone();
        child.push(name.clone());
        if files.contains_key(&child) {
            module = child;
        } else if let Some(path) = files[&module].exported.get(name) {
            return resolve(files, &module, path);
        } else {
            break;
        }
    }
    Some(module)
}

fn edges(files: &BTreeMap<Module, File>) -> BTreeMap<Module, BTreeSet<Module>> {
    let targets = |(module, file): (&Module, &File)| {
        let paths = file.used.iter();
        let found = paths.filter_map(|path| resolve(files, module, path));
        let others = found.filter(|target| target != module);
        (module.clone(), others.collect())
    };
    files.iter().map(targets).collect()
}

fn layer(module: &Module) -> Option<usize> {
    let name = module.first()?;
    let known = LAYERS.iter().position(|layer| layer == name);
    Some(known.unwrap_or_else(|| panic!("src/{name} is no layer of this test")))
}

#[test]
fn no_file_uses_a_layer_above_its_own() {
    let files = files();
    let mut wrong = Vec::new();
    for (from, targets) in edges(&files) {
        for to in targets {
            // The root hands on everything. Only the binding speaks of the library by its root.
            let goes_up = match (layer(&from), layer(&to)) {
                (Some(from), Some(to)) => to > from,
                (Some(from), None) => LAYERS[from] != "python",
                (None, _) => false,
            };
            if goes_up {
                wrong.push(format!("{} -> {}", from.join("/"), to.join("/")));
            }
        }
    }
    assert!(wrong.is_empty(), "edges that go up: {wrong:#?}");
}

#[test]
fn files_form_no_cycle() {
    let files = files();
    let edges = edges(&files);
    // What each file reaches, directly or through others.
    let mut reached = edges.clone();
    loop {
        let mut grown = false;
        for module in edges.keys() {
            let further: BTreeSet<Module> = reached[module]
                .iter()
                .flat_map(|target| reached[target].iter().cloned())
                .collect();
            let all = reached.get_mut(module).expect("every file has an entry");
            let before = all.len();
            all.extend(further);
            grown |= all.len() > before;
        }
        if !grown {
            break;
        }
    }
    let in_cycle = |module: &&Module| reached[*module].contains(*module);
    let left: BTreeSet<&Module> = edges.keys().filter(in_cycle).collect();
    let within = |module: &&Module| {
        let targets = edges[*module].iter().filter(|target| left.contains(target));
        let targets: Vec<String> = targets.map(|target| target.join("/")).collect();
        format!("{} -> {}", module.join("/"), targets.join(", "))
    };
    let cycles: Vec<String> = left.iter().map(within).collect();
    assert!(cycles.is_empty(), "files in a cycle: {cycles:#?}");
}

#[test]
fn the_map_of_the_library_names_its_layers_in_order() {
    let text = fs::read_to_string(source().join("lib.rs")).expect("text");
    let rows = text.lines().filter(|line| line.starts_with("//! | "));
    let names = rows.filter_map(|line| line.split('`').nth(1));
    let map: Vec<&str> = names.collect();
    let public = LAYERS.iter().copied().filter(|layer| {
        let (file, folder) = (format!("{layer}.rs"), format!("{layer}/mod.rs"));
        let exists = source().join(file).exists() || source().join(folder).exists();
        exists && *layer != "bench" && *layer != "python"
    });
    assert_eq!(map, public.collect::<Vec<&str>>());
}

#[test]
fn the_parser_sees_what_is_used() {
    let text = "use crate::a::{B, c::{D, E as F}};\npub(crate) use g::H;\n// use crate::x::Y;\n\
                fn f() { super::i::j(); \"crate::k\" }\n#[cfg(test)]\nmod tests {\nuse crate::l;\n}";
    let file = parse(text);
    let used: Vec<String> = file.used.iter().map(|path| path.join("::")).collect();
    assert_eq!(
        used,
        [
            "crate::a::B",
            "crate::a::c::D",
            "crate::a::c::E",
            "super::i::j"
        ]
    );
    assert_eq!(file.exported["H"], ["g", "H"]);
}

/// Lines of the longest function, signature included, and of the longest file.
const LONGEST: (usize, usize) = (60, 600);
/// Parameters of a function, beside `self`.
const MOST_PARAMETERS: usize = 6;

/// A function: its name, how many lines it has and how many parameters beside `self`.
#[derive(Debug, PartialEq)]
struct Function {
    name: String,
    lines: usize,
    parameters: usize,
}

/// Finds the functions with a body in code without comments and strings.
fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + 3..];
        let name: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let Some((arguments, body)) = signature(&rest[name.len()..]) else {
            continue;
        };
        let Some(length) = closing(body, '{', '}') else {
            continue;
        };
        let end = rest.len() - body.len() + length;
        // A constructor that Python calls has keyword arguments.
        let item = code[..at].rsplit(['{', '}', ';']).next();
        let by_keyword = item.is_some_and(|attributes| attributes.contains("#[new]"));
        found.push(Function {
            name,
            lines: rest[..end].lines().count(),
            parameters: if by_keyword { 0 } else { parameters(arguments) },
        });
    }
    found
}

/// Splits what follows the name of a function into its arguments and what begins with its body;
/// None if it has no body.
fn signature(text: &str) -> Option<(&str, &str)> {
    let open = text.find('(')?;
    if !text[..open].trim().is_empty() && !text.trim_start().starts_with('<') {
        return None; // a type such as fn(T) -> T
    }
    let open = match text.trim_start().starts_with('<') {
        true => closing(text, '<', '>')? + text[closing(text, '<', '>')?..].find('(')?,
        false => open,
    };
    let end = open + closing(&text[open..], '(', ')')?;
    let after = &text[end..];
    let body = after.find(['{', ';'])?;
    // A bracket that closes before one opens ends a macro call, in which there are no bodies.
    let has_body = after[body..].starts_with('{') && !after[..body].contains('}');
    has_body.then_some((&text[open + 1..end - 1], &after[body..]))
}

/// Returns where the bracket that opens first is closed, just behind it.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        let is_arrow = letter == '>' && text[..at].ends_with(['-', '=']);
        if letter == open {
            depth += 1;
        } else if letter == close && !is_arrow && depth > 0 {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

fn parameters(arguments: &str) -> usize {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    let mut last = ' ';
    for letter in arguments.chars() {
        match letter {
            '(' | '[' | '<' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if last != '-' && last != '=' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        last = letter;
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let is_self = |part: &str| part.contains("self") && !part.contains("self:") || part == "self";
    let named = parts.iter().map(|part| part.trim_matches([',', ' ', '\n']));
    named
        .filter(|part| !part.is_empty() && !is_self(part) && !part.starts_with("self:"))
        .count()
}

/// Targets of tests are named one by one: a file that nobody names would never run.
#[test]
fn every_test_file_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = fs::read_to_string(root.join("tests/all.rs")).expect("text");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("text");
    for entry in fs::read_dir(root.join("tests")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let module = all.contains(&format!("\nmod {name};"));
            let target = manifest.contains(&format!("[[test]]\nname = \"{name}\""));
            assert!(
                module || target,
                "{name} is in neither tests/all.rs nor Cargo.toml"
            );
        }
    }
}

#[test]
fn functions_and_files_are_short() {
    let mut paths = Vec::new();
    rust_files(&source(), &mut paths);
    let mut wrong = Vec::new();
    for path in paths.iter().filter(|path| !path.ends_with("tests.rs")) {
        let text = fs::read_to_string(path).expect("text");
        let place = module_of(path).join("/");
        if text.lines().count() > LONGEST.1 {
            wrong.push(format!("{place}: {} lines", text.lines().count()));
        }
        for function in functions(&code_of(&text)) {
            if function.lines > LONGEST.0 || function.parameters > MOST_PARAMETERS {
                wrong.push(format!("{place}: {function:?}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "too long or too many parameters: {wrong:#?}"
    );
}

#[test]
fn the_parser_sees_functions() {
    let code = "pub fn a<F: Fn(u8, u8) -> u8>(&self, f: F, g: [u8; 2]) -> (u8, u8) {\n1\n}\n\
                trait B { fn c(x: u8); }\nfn d() {}\ntype E = fn(u8) -> u8;\n\
                impl F { #[new]\nfn g(x: u8, y: u8) {}\n}";
    let function = |name: &str, lines, parameters| Function {
        name: name.into(),
        lines,
        parameters,
    };
    let found = [
        function("a", 3, 2),
        function("d", 1, 0),
        function("g", 1, 0),
    ];
    assert_eq!(functions(code), found);
}
