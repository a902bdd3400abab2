// SPDX-License-Identifier: Apache-2.0
//
// Compares versions of the types for plugins: node compare.mjs TYPESCRIPT, where TYPESCRIPT is the
// folder of the compiler. Reads a JSON array of comparisons: old and now are declarations, free is
// true if deprecated declarations may be removed. Prints an array of their results: found has a
// sentence for each change that breaks plugins, error is the reason why there is no result.
//
// Types are compared in the direction of their values. Types that plugins receive (out) may get
// more members and must not lose any; types that plugins pass (in) may accept more and must not
// require more. Parameters of a function have the opposite direction of the function itself.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const ts = createRequire(import.meta.url)(process.argv[2]);
const options = { strict: true, target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], types: [], noEmit: true };
const host = ts.createCompilerHost(options);
const read = host.getSourceFile, libraries = new Map();

const comparison = (oldDeclarations, newDeclarations, free) => {

  // The old declarations are put into a namespace next to the new ones; modules cannot be in a
  // namespace and are renamed.
  const modules = [];
  const oldText = oldDeclarations.replace(/^declare module '([^']*)' \{\n([^]*?)^\}\n/gm, (_, name, body) => {
    modules.push([name, body]);
    return '';
  });
  const files = {
    '/new.d.ts': newDeclarations,
    '/old.d.ts': 'declare namespace Old {\n' + oldText.replace(/(^|[;}])(\s*)declare (?=abstract |class |const |function |namespace )/gm, '$1$2') + '\n}\n'
      + modules.map(([name, body]) => `declare module 'old:${name}' {\n${body}}\n`).join(''),
  };
  host.getSourceFile = (name, ...rest) => {
    if (name in files) return ts.createSourceFile(name, files[name], ts.ScriptTarget.ES2022, true);
    if (!libraries.has(name)) libraries.set(name, read(name, ...rest));
    return libraries.get(name);
  };
  const program = ts.createProgram(Object.keys(files), options, host);
  const mistakes = Object.keys(files).flatMap((name) => [...program.getSyntacticDiagnostics(program.getSourceFile(name)), ...program.getSemanticDiagnostics(program.getSourceFile(name))]);
  if (mistakes.length) {
    return { error: ts.formatDiagnostics(mistakes, { getCanonicalFileName: (f) => f, getCurrentDirectory: () => '/', getNewLine: () => '\n' }) };
  }
  const checker = program.getTypeChecker();
  const F = ts.TypeFlags;
  let found = [], seen = new Set();
  const report = (path, text) => { if (!found.includes(`${path} ${text}`)) found.push(`${path} ${text}`); };
  const show = (t) => checker.typeToString(t, undefined, ts.TypeFormatFlags.NoTruncation).replace(/\bOld\./g, '');
  const deprecated = (s) => free && s.getJsDocTags(checker).some((tag) => tag.name === 'deprecated');
  const isEmpty = (t) => (t.flags & (F.Undefined | F.Null | F.Void)) !== 0;
  const isObject = (t) => (t.flags & (F.Object | F.Intersection)) !== 0;
  const isLiteral = (t) => (t.flags & (F.StringLiteral | F.NumberLiteral | F.BooleanLiteral)) !== 0;
  // Types that depend on a type parameter are compared by their text.
  const isOpen = (t) => (t.flags & (F.TypeParameter | F.Conditional | F.IndexedAccess | F.Index | F.Substitution | F.TemplateLiteral)) !== 0;
  const members = (t) => (t.isUnion() ? t.types : [t]);

  // Runs a comparison without recording its sentences, and returns whether there were none.
  const fits = (compare) => {
    const before = [found, seen];
    found = [];
    seen = new Set(seen);
    compare();
    const ok = found.length === 0;
    [found, seen] = before;
    return ok;
  };

  const compare = (old, now, out, path) => {
    const key = `${old.id} ${now.id} ${out}`;
    if (old === now || seen.has(key)) return;
    seen.add(key);
    const [from, to] = out ? [now, old] : [old, now];
    if (to.flags & (F.Any | F.Unknown) || from.flags & F.Any || from.flags & F.Never) return;
    if (from.flags & F.Unknown) return report(path, `has the type ${show(now)} instead of ${show(old)}`);
    if (isOpen(old) || isOpen(now)) {
      if (show(old) !== show(now)) report(path, `has the type ${show(now)} instead of ${show(old)}`);
      return;
    }
    const before = members(old), after = members(now);
    if (members(from).some(isEmpty) && !members(to).some(isEmpty)) {
      report(path, out ? 'can be undefined or null now' : 'can no longer be undefined or null');
    }
    // Non-object types: existing ones must stay; types that plugins receive may get new constants
    // and nothing else.
    const plain = (list) => list.filter((t) => !isObject(t) && !isEmpty(t));
    const within = (t, list) => list.some((x) => (isOpen(t) ? show(t) === show(x) : checker.isTypeAssignableTo(t, x)));
    for (const t of plain(before)) {
      if (!within(t, plain(after)) && !(out && plain(after).some((x) => within(x, [t])) && !isLiteral(t))) report(path, `can no longer be ${show(t)}`);
    }
    if (out) {
      for (const t of plain(after)) {
        if (!within(t, plain(before)) && !(isLiteral(t) && plain(before).some(isLiteral))) report(path, `can be ${show(t)} now`);
      }
    }
    const [given, taken] = [members(from).filter(isObject), members(to).filter(isObject)];
    if (given.length === 1 && taken.length === 1) return out ? objects(taken[0], given[0], out, path) : objects(given[0], taken[0], out, path);
    for (const t of given) {
      if (!taken.some((x) => fits(() => (out ? compare(x, t, out, path) : compare(t, x, out, path))))) report(path, out ? `can be ${show(t)} now` : `can no longer be ${show(t)}`);
    }
  };

  const property = (t, like) => checker.getPropertiesOfType(t).find((s) => s.escapedName === like.escapedName);
  const nameOf = (s) => s.name.replace(/^__@(\w+)@\d+$/, '[Symbol.$1]');

  const objects = (old, now, out, path) => {
    // Of a generic type the arguments are compared, and its declaration once.
    const generic = (t) => t.target && t.target !== t && t.target.symbol;
    if (generic(old) && generic(now) && generic(old).name === generic(now).name) {
      const [before, after] = [old, now].map((t) => checker.getTypeArguments(t));
      if (before.length === after.length) {
        before.forEach((t, i) => compare(t, after[i], out, path));
        return compare(old.target, now.target, out, generic(old).name);
      }
    }
    const index = (t) => checker.getIndexInfosOfType(t);
    for (const p of checker.getPropertiesOfType(old)) {
      const name = `${path}.${nameOf(p)}`, q = property(now, p);
      if (!q) {
        if (!index(now).length && !deprecated(p)) report(name, 'is gone');
        continue;
      }
      const optional = [p, q].map((s) => (s.flags & ts.SymbolFlags.Optional) !== 0);
      if (out && optional[1] && !optional[0]) report(name, 'can be missing now');
      if (!out && optional[0] && !optional[1]) report(name, 'is required now');
      const fixed = [p, q].map((s) => (ts.getCheckFlags(s) & ts.CheckFlags.Readonly) !== 0 || (ts.getDeclarationModifierFlagsFromSymbol(s) & ts.ModifierFlags.Readonly) !== 0);
      if (out && fixed[1] && !fixed[0]) report(name, 'can no longer be set');
      const type = (s) => (s.flags & ts.SymbolFlags.Optional ? checker.getNonNullableType(checker.getTypeOfSymbol(s)) : checker.getTypeOfSymbol(s));
      compare(type(p), type(q), out, name);
    }
    if (!out && !index(old).length) {
      for (const q of checker.getPropertiesOfType(now)) {
        if (!(q.flags & ts.SymbolFlags.Optional) && !property(old, q)) report(`${path}.${nameOf(q)}`, 'is new and required');
      }
    }
    for (const i of index(old)) {
      const j = index(now).find((x) => x.keyType === i.keyType);
      if (j) compare(i.type, j.type, out, `${path}[]`);
      else report(path, `no longer has any ${show(i.keyType)} as a name`);
    }
    for (const kind of [ts.SignatureKind.Call, ts.SignatureKind.Construct]) {
      const [before, after] = [old, now].map((t) => checker.getSignaturesOfType(t, kind));
      if (before.length === 1 && after.length === 1) signatures(before[0], after[0], out, path);
      else {
        for (const s of before) {
          if (!after.some((x) => fits(() => signatures(s, x, out, path)))) report(path, `can no longer be called as ${checker.signatureToString(s).replace(/\bOld\./g, '')}`);
        }
      }
    }
  };

  const signatures = (old, now, out, path) => {
    const rest = (s) => s.parameters.length > 0 && (s.parameters.at(-1).valueDeclaration?.dotDotDotToken ?? false) !== false;
    if (now.parameters.length < old.parameters.length && !rest(now)) report(path, `takes ${now.parameters.length} arguments instead of ${old.parameters.length}`);
    if (out && now.minArgumentCount > old.minArgumentCount) report(path, `demands ${now.minArgumentCount} arguments instead of ${old.minArgumentCount}`);
    old.parameters.forEach((p, i) => {
      const q = now.parameters[i];
      if (q) compare(checker.getTypeOfSymbol(p), checker.getTypeOfSymbol(q), !out, `${path}(${p.name})`);
    });
    compare(old.getReturnType(), now.getReturnType(), out, `${path}()`);
  };

  // Compares the declarations of two scopes. What plugins implement or extend is compared in the
  // direction in.
  const implemented = new Set(['AppPlugin', 'AppExtension']);
  const scopes = (old, now, prefix) => {
    const both = [];
    for (const p of old) {
      const q = now.find((s) => s.name === p.name), name = prefix + p.name;
      if (q) both.push([p, q, name]);
      else if (!deprecated(p)) report(name, 'is gone');
    }
    const declared = (s) => checker.getDeclaredTypeOfSymbol(s);
    const kinds = ts.SymbolFlags;
    for (const [p, q, name] of both) {
      if (name === 'ExtensionPoints') compare(declared(p), declared(q), false, name);
      if (implemented.has(name)) {
        compare(declared(p), declared(q), false, name);
        continue;
      }
      if (p.flags & kinds.Value & ~kinds.ValueModule) {
        if (q.flags & kinds.Value) compare(checker.getTypeOfSymbol(p), checker.getTypeOfSymbol(q), true, name);
        else report(name, 'is only a type now');
      }
      if (p.flags & kinds.Namespace) scopes(checker.getExportsOfModule(p), checker.getExportsOfModule(q), name + '.');
    }
    for (const [p, q, name] of both) {
      if (!(p.flags & kinds.Type) || implemented.has(name)) continue;
      if (!(q.flags & kinds.Type)) report(name, 'is no longer a type');
      else if (![true, false].some((out) => seen.has(`${declared(p).id} ${declared(q).id} ${out}`))) compare(declared(p), declared(q), true, name);
    }
  };

  const old = program.getSourceFile('/old.d.ts'), now = program.getSourceFile('/new.d.ts');
  const inScope = (file) => checker.getSymbolsInScope(file, ts.SymbolFlags.Value | ts.SymbolFlags.Type | ts.SymbolFlags.Namespace);
  const all = inScope(now);
  const top = all.find((s) => s.name === 'Old');
  scopes(checker.getExportsOfModule(top), all, '');
  for (const [name] of modules) {
    const find = (n) => checker.getAmbientModules().find((m) => m.name === `"${n}"`);
    if (find(name)) scopes(checker.getExportsOfModule(find('old:' + name)), checker.getExportsOfModule(find(name)), name + ': ');
    else report(name, 'is gone');
  }
  return { found };
};

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map((c) => comparison(c.old, c.now, c.free))));
