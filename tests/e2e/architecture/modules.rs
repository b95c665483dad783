//! Reads which modules of a crate use which, and finds import cycles.
//!
//! A module is a file. It uses another one when it names it in a `use` or in a path
//! (`crate::…`, `super::…`, `self::…`, or a child's name). A name that a module only
//! re-exports leads to the module that defines it, so `crate::Name` is not a use of
//! `lib.rs`. Test code does not count.
//!
//! A child may use its own parent, and the parent its child. Any other cycle counts,
//! also one that passes through a parent and its child.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The path of a module below the crate's root; empty for `lib.rs`.
type ModulePath = Vec<String>;

/// The modules of a crate.
pub(super) struct Modules(BTreeMap<ModulePath, Module>);

#[derive(Default)]
struct Module {
    /// Names that are defined here.
    defined: BTreeSet<String>,
    /// Every path that is named here, in imports and in code.
    named: Vec<Vec<String>>,
    /// The paths among them that are imported; the module's children see these too.
    imported: Vec<Vec<String>>,
    /// The paths among them that are re-exported to other crates.
    public: Vec<Vec<String>>,
    /// Public names that are defined here.
    public_defined: BTreeSet<String>,
}

impl Modules {
    /// Reads the source files below `src`.
    pub(super) fn read(src: &Path) -> Self {
        let mut files = Vec::new();
        super::rust_files(src, &mut files);
        let modules = files.iter().map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            (module_path(src, file), Module::parse(&text))
        });
        Self(modules.collect())
    }

    /// Which modules each module uses, its own ancestors left out.
    fn graph(&self) -> BTreeMap<&ModulePath, BTreeSet<&ModulePath>> {
        let used = |path: &'_ ModulePath, module: &'_ Module| -> BTreeSet<&ModulePath> {
            let targets = module
                .named
                .iter()
                .filter_map(|it| self.resolve(path, it, 0));
            targets.filter(|target| !path.starts_with(target)).collect()
        };
        let modules = self.0.iter();
        modules
            .map(|(path, module)| (path, used(path, module)))
            .collect()
    }

    /// Groups of modules that use each other in a cycle, as readable names.
    pub(super) fn cycles(&self) -> Vec<Vec<String>> {
        let graph = self.graph();
        let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = graph
            .keys()
            .map(|from| (*from, reachable(&graph, from)))
            .collect();
        let mut seen = BTreeSet::new();
        let mut cycles = Vec::new();
        for (from, to) in &reached {
            if !to.contains(from) || seen.contains(from) {
                continue;
            }
            let group: Vec<&ModulePath> = to
                .iter()
                .filter(|other| reached[*other].contains(from))
                .copied()
                .collect();
            seen.extend(group.iter().copied());
            cycles.push(group.iter().map(|path| path.join("::")).collect());
        }
        cycles
    }

    /// How many names another crate can reach at the crate's root.
    pub(super) fn public_names(&self) -> usize {
        let root = ModulePath::new();
        let module = &self.0[&root];
        let names: BTreeSet<String> = module
            .public
            .iter()
            .flat_map(|path| self.exported(&root, path))
            .chain(module.public_defined.iter().cloned())
            .collect();
        names.len()
    }

    /// The names that a re-export gives; all public ones of a module for `module::*`.
    fn exported(&self, from: &ModulePath, path: &[String]) -> Vec<String> {
        match path.split_last() {
            Some((last, parents)) if last == "*" => {
                let Some(module) = self.resolve(from, parents, 0) else {
                    return Vec::new();
                };
                let public = &self.0[module];
                let inner = public.public.iter();
                inner
                    .flat_map(|path| self.exported(module, path))
                    .chain(public.public_defined.iter().cloned())
                    .collect()
            }
            Some((last, _)) => vec![last.clone()],
            None => Vec::new(),
        }
    }

    /// The module that a path named in `from` leads to.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<&ModulePath> {
        let mut base = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                let child = [from.as_slice(), &[child.to_owned()]].concat();
                self.0.get(&child)?;
            }
        }
        self.descend(base, rest, depth)
    }

    fn descend(&self, mut at: ModulePath, path: &[String], depth: usize) -> Option<&ModulePath> {
        let mut rest = path;
        while let Some(segment) = rest.first() {
            let child = [at.as_slice(), std::slice::from_ref(segment)].concat();
            if !self.0.contains_key(&child) {
                break;
            }
            at = child;
            rest = &rest[1..];
        }
        let (here, module) = self.0.get_key_value(&at)?;
        let Some(name) = rest.first().filter(|name| depth < 8 && *name != "*") else {
            return Some(here);
        };
        if module.defined.contains(name) {
            return Some(here);
        }
        for import in &module.imported {
            let (last, parents) = import.split_last()?;
            if last == name {
                return self.resolve(here, import, depth + 1).or(Some(here));
            }
            let target = (last == "*").then(|| self.resolve(here, parents, depth + 1));
            if let Some(target) = target.flatten()
                && self.has(target, name)
            {
                return self.descend(target.clone(), rest, depth + 1);
            }
        }
        Some(here)
    }

    fn has(&self, path: &ModulePath, name: &str) -> bool {
        let module = &self.0[path];
        let ends_so = |path: &Vec<String>| path.last().is_some_and(|last| last == name);
        module.defined.contains(name) || module.imported.iter().any(ends_so)
    }
}

fn reachable<'g>(
    graph: &BTreeMap<&'g ModulePath, BTreeSet<&'g ModulePath>>,
    from: &ModulePath,
) -> BTreeSet<&'g ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&ModulePath> = graph[from].iter().copied().collect();
    while let Some(next) = open.pop() {
        if reached.insert(*graph.get_key_value(next).unwrap().0) {
            open.extend(graph[next].iter().copied());
        }
    }
    reached
}

fn module_path(src: &Path, file: &Path) -> ModulePath {
    let relative: PathBuf = file.strip_prefix(src).unwrap().with_extension("");
    let segments = relative.iter().map(|segment| segment.to_str().unwrap());
    let path: ModulePath = segments.map(str::to_owned).collect();
    match path.as_slice() {
        [root] if root == "lib" => Vec::new(),
        _ => path,
    }
}

const ITEMS: [&str; 8] = [
    "struct", "enum", "trait", "fn", "const", "static", "type", "mod",
];

impl Module {
    fn parse(text: &str) -> Self {
        let tokens = tokens(text);
        let mut module = Self::default();
        let mut at = 0;
        let mut is_public = false;
        // Items count only outside of blocks: a method is no name of the module.
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            let next = tokens.get(at + 1).map(String::as_str);
            match token.as_str() {
                "#" if tokens[at..].join("").starts_with("#[cfg(test)]") => {
                    at = end_of_item(&tokens, at + 7);
                    continue;
                }
                "{" => depth += 1,
                "}" => depth -= 1,
                "pub" => {
                    is_public = next != Some("(");
                    if !is_public {
                        at += 3;
                    }
                }
                "use" => {
                    let end = at + position(&tokens[at..], ";");
                    let mut paths = Vec::new();
                    expand(&tokens[at + 1..end], &[], &mut paths);
                    module.named.extend(paths.iter().cloned());
                    module.imported.extend(paths.iter().cloned());
                    if is_public {
                        module.public.extend(paths);
                    }
                    is_public = false;
                    at = end;
                }
                item if depth == 0 && ITEMS.contains(&item) && next != Some("fn") => {
                    let name = next.unwrap_or_default().to_owned();
                    if is_public {
                        module.public_defined.insert(name.clone());
                    }
                    module.defined.insert(name);
                    is_public = false;
                }
                _ => at = module.path_in_code(&tokens, at),
            }
            at += 1;
        }
        module
    }

    /// Notes a path that begins at `at`, if one does; returns where it ends.
    fn path_in_code(&mut self, tokens: &[String], at: usize) -> usize {
        let continues = |at: usize| tokens.get(at).is_some_and(|token| token == "::");
        let follows = at > 0 && continues(at - 1);
        if follows || !continues(at + 1) {
            return at;
        }
        let mut path = vec![tokens[at].clone()];
        let mut end = at;
        while continues(end + 1) && tokens.get(end + 2).is_some_and(|it| is_word(it)) {
            path.push(tokens[end + 2].clone());
            end += 2;
        }
        self.named.push(path);
        end
    }
}

/// The paths of a `use` tree: `a::{b, c::*}` is `a::b` and `a::c::*`.
fn expand(tree: &[String], prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = prefix.to_vec();
    for (at, token) in tree.iter().enumerate() {
        match token.as_str() {
            "::" => {}
            "{" => {
                let inner = &tree[at + 1..tree.len() - 1];
                for branch in branches(inner) {
                    expand(branch, &path, paths);
                }
                return;
            }
            "as" => break,
            segment => path.push(segment.to_owned()),
        }
    }
    // `a::{self}` names `a`.
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    paths.push(path);
}

fn branches(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    let parts = tokens.split(|token| {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn position(tokens: &[String], wanted: &str) -> usize {
    let found = tokens.iter().position(|token| token == wanted);
    found.unwrap_or(tokens.len())
}

/// Where the item that begins at `from` ends: behind its `;` or its closing brace.
fn end_of_item(tokens: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && (token == ";" || token == "}") {
            return at + 1;
        }
    }
    tokens.len()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words, `::` and single signs, without comments, strings and characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            3 + raw.find("\"#").map_or(0, |end| end + 2)
        } else if first == '"' {
            end_of_string(rest)
        } else if first == '\'' {
            end_of_quote(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let is_inside = |it: char| it.is_alphanumeric() || it == '_';
            rest.find(|it| !is_inside(it)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        let is_kept = !first.is_whitespace() && !token.starts_with("//");
        if is_kept && !matches!(first, '"' | '\'') && !token.starts_with("r#\"") {
            tokens.push(token.to_owned());
        }
        rest = behind;
    }
    tokens
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, it) in text.char_indices().skip(1) {
        match it {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal, or 1 for the sign of a lifetime.
fn end_of_quote(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    let is_escape = characters.next().is_some_and(|(_, it)| it == '\\');
    let mut ends = characters.skip(usize::from(is_escape));
    let end = if is_escape {
        ends.find(|(_, it)| *it == '\'')
    } else {
        ends.next().filter(|(_, it)| *it == '\'')
    };
    end.map_or(1, |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        let path = |name: &str| match name {
            "lib" => Vec::new(),
            _ => name.split("::").map(str::to_owned).collect(),
        };
        let parse = |(name, text): &(&str, &str)| (path(name), Module::parse(text));
        Modules(files.iter().map(parse).collect())
    }

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        modules(files).cycles()
    }

    #[test]
    fn two_modules_that_import_each_other_are_a_cycle() {
        let both = [("a", "use crate::b::B;"), ("b", "fn f() { crate::a::g() }")];
        assert_eq!(cycles(&both), [["a", "b"]]);
        assert!(cycles(&[("a", "use crate::b::B;"), ("b", "")]).is_empty());
        assert!(cycles(&[("a", "use crate::b::B;"), ("b", "// crate::a::g()")]).is_empty());
        assert!(
            cycles(&[
                ("a", "use crate::b::B;"),
                ("b", "fn f() -> &'static str { \"crate::a\" }")
            ])
            .is_empty()
        );
    }

    #[test]
    fn cycles_through_reexports_and_super_are_found() {
        let lib = ("lib", "mod a; mod b; pub use a::A; pub use b::*;");
        let a = ("a", "use crate::{B, other::{C}}; pub struct A;");
        assert_eq!(
            cycles(&[lib, a, ("b", "pub struct B(super::A);")]),
            [["a", "b"]]
        );
        assert!(cycles(&[lib, a, ("b", "pub struct B;")]).is_empty());
    }

    #[test]
    fn parent_and_child_may_use_each_other() {
        let lib = ("lib", "mod a;");
        let a = ("a", "mod x; mod y; use x::X; struct A;");
        let x = ("a::x", "use super::A; pub struct X;");
        assert!(cycles(&[lib, a, x, ("a::y", "use super::X;")]).is_empty());
        // Two children are not parent and child.
        let x = ("a::x", "use super::y::Y; pub struct X;");
        assert_eq!(
            cycles(&[lib, a, x, ("a::y", "use super::X; struct Y;")]),
            [["a::x", "a::y"]]
        );
        // And the child's other users are not its parent.
        let x = ("a::x", "use crate::b::B; pub struct X;");
        assert_eq!(
            cycles(&[lib, a, x, ("b", "use crate::a::A;")]),
            [["a", "a::x", "b"]]
        );
    }

    #[test]
    fn test_code_does_not_count() {
        let b = (
            "b",
            "#[cfg(test)]\nmod tests { use crate::a::A; fn f() {} }\nstruct B;",
        );
        assert!(cycles(&[("a", "use crate::b::B;"), b]).is_empty());
        let b = ("b", "#[cfg(test)]\nmod tests;\nuse crate::a::A;");
        assert_eq!(cycles(&[("a", "use crate::b::B;"), b]), [["a", "b"]]);
    }

    #[test]
    fn public_names_are_counted_through_globs() {
        let lib = (
            "lib",
            "mod a; pub use a::*; pub use b::{C, d::E}; pub(crate) use x::Y; pub mod f;",
        );
        let a = (
            "a",
            "mod z; pub use z::Z; pub struct A; pub fn b() {} struct Own; pub const fn c() {}",
        );
        assert_eq!(modules(&[lib, a]).public_names(), 7);
    }
}
