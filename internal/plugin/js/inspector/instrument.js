// SPDX-License-Identifier: Apache-2.0
//
// Inserts probes into the source of a plugin: a call before each statement, with an accessor, and a
// handler around each function and each try block that observes exceptions. An accessor is a
// function that names the variables visible to the statement, so that they can be found in its
// closure. Each scope has one accessor, created at its start: it names the variables of its own
// scope and, last, the accessor of the enclosing scope. An accessor that evaluates code would
// capture every visible variable instead, and cost far more than the plugin itself; only classes
// with private members have one. Each insertion is between two marks and without line breaks, so
// that line numbers are unchanged and removing the insertions restores the original. Returns JSON:
// the code, the probes and the scopes that they see. insert.go does the same, and explains the
// names.
(function (acorn) {
  'use strict';
  const open = '\v\f', close = '\f\v';
  const patternNames = (p, into) => {
    switch (p && p.type) {
      case 'Identifier': into.push(p.name); break;
      case 'ObjectPattern': for (const q of p.properties) patternNames(q.type === 'RestElement' ? q.argument : q.value, into); break;
      case 'ArrayPattern': for (const q of p.elements) patternNames(q, into); break;
      case 'AssignmentPattern': patternNames(p.left, into); break;
      case 'RestElement': patternNames(p.argument, into); break;
    }
    return into;
  };
  const isFunction = (n) => n.type === 'FunctionDeclaration' || n.type === 'FunctionExpression' || n.type === 'ArrowFunctionExpression';
  const children = function* (n) {
    for (const key of Object.keys(n)) {
      const v = n[key];
      if (Array.isArray(v)) { for (const c of v) if (c && typeof c.type === 'string') yield c; }
      else if (v && typeof v.type === 'string' && typeof v.start === 'number') yield v;
    }
  };
  // The names that var declares anywhere in a function.
  const hoisted = (n, into) => {
    if (n.type === 'VariableDeclaration' && n.kind === 'var') for (const d of n.declarations) patternNames(d.id, into);
    for (const c of children(n)) if (!isFunction(c) && c.type !== 'ClassBody') hoisted(c, into);
    return into;
  };
  // The names of the functions that blocks inside a statement declare.
  const nested = (n, into) => {
    for (const c of children(n)) {
      if (c.type === 'FunctionDeclaration') into.push(c.id.name);
      else if (!isFunction(c) && c.type !== 'ClassBody') nested(c, into);
    }
    return into;
  };
  // The names that statements of one block declare for that block.
  const lexical = (statements, into) => {
    for (let s of statements) {
      if (s.type === 'ImportDeclaration') for (const i of s.specifiers) into.push(i.local.name);
      if ((s.type === 'ExportNamedDeclaration' || s.type === 'ExportDefaultDeclaration') && s.declaration) s = s.declaration;
      if (s.type === 'VariableDeclaration' && s.kind !== 'var') for (const d of s.declarations) patternNames(d.id, into);
      if ((s.type === 'FunctionDeclaration' || s.type === 'ClassDeclaration') && s.id) into.push(s.id.name);
    }
    return into;
  };
  // The last line of a statement, without the statements inside it. Functions inside an expression
  // belong to it.
  const lastLine = (n) => {
    const inner = n.type === 'IfStatement' ? n.consequent : n.type === 'TryStatement' ? n.block : n.type === 'SwitchStatement' ? n.cases[0]
      : n.type === 'DoWhileStatement' ? n.body : n.type === 'LabeledStatement' ? n.body : n.type.startsWith('Class') ? n.body : n.body?.type ? n.body : undefined;
    if (inner) return inner.loc.start.line - 1;
    const d = n.type.startsWith('Export') && n.declaration;
    return d && d.type.startsWith('Class') ? d.body.loc.start.line - 1 : n.loc.end.line - 1;
  };
  // Whether a statement suspends its function itself.
  const suspends = (n) => {
    if (n.type === 'AwaitExpression' || n.type === 'YieldExpression' || (n.type === 'ForOfStatement' && n.await)) return true;
    for (const c of children(n)) if (!isFunction(c) && suspends(c)) return true;
    return false;
  };

  // Whether a loop suspends while it assigns the iteration variable. The engine cannot compile that
  // inside a try block.
  const suspendsInHead = (n) => {
    if (n.type === 'ForOfStatement' && n.left.type.endsWith('Pattern') && suspends(n.left)) return true;
    for (const c of children(n)) if (!isFunction(c) && suspendsInHead(c)) return true;
    return false;
  };

  const hasFunction = (n) => isFunction(n) || n.type === 'ClassExpression' || [...children(n)].some(hasFunction);
  // Whether the body of a function is one statement without a nested function or block.
  const isPlain = (body) => {
    const rest = body.filter((n) => n.directive === undefined);
    return rest.length === 1 && /^(Expression|Return|Throw)Statement$/.test(rest[0].type) && !hasFunction(rest[0]);
  };

  // Makes top-level declarations repeatable, as in consoles. Code that cannot be parsed is returned
  // unchanged.
  const redeclaring = (source) => {
    let tree;
    try {
      tree = acorn.parse(source, { ecmaVersion: 2022, sourceType: 'script', allowAwaitOutsideFunction: true });
    } catch {
      return source;
    }
    let code = '', last = 0;
    const put = (from, to, text) => { code += source.slice(last, from) + text; last = to; };
    for (const n of tree.body) {
      if (n.type === 'VariableDeclaration' && n.kind !== 'var') put(n.start, n.start + n.kind.length, 'var');
      if (n.type === 'ClassDeclaration') put(n.start, n.start, `var ${n.id.name}=`);
    }
    return code + source.slice(last);
  };

  return (source, isModule, firstProbe) => {
    if (firstProbe === undefined) return redeclaring(source);
    const arrows = new Set();
    const tree = acorn.parse(source, {
      ecmaVersion: 2022, sourceType: isModule ? 'module' : 'script', locations: true, allowHashBang: true, allowReturnOutsideFunction: false,
      onToken: (t) => { if (t.type === acorn.tokTypes.arrow) arrows.add(t.end); },
    });
    const arrowEnds = [...arrows].sort((a, b) => a - b);
    const arrowBefore = (pos) => {
      let from = 0, to = arrowEnds.length;
      while (from < to) {
        const middle = (from + to) >> 1;
        if (arrowEnds[middle] <= pos) from = middle + 1;
        else to = middle;
      }
      return arrowEnds[from - 1];
    };
    const insertions = [], probes = [], scopes = [];
    const insert = (pos, opens, text) => insertions.push({ pos, opens, text: open + text + close });
    const newScope = (kind, names, parent) => scopes.push({ kind, names: [...new Set(names)], parent }) - 1;

    // The calls of a state are the start and the end of its function, until its first statement has
    // taken them, which runs once per call. A state s contains the name of the accessor of its
    // scope as access, and the innermost scope that the accessor covers as seen. If there are
    // scopes inside that, the next block creates another accessor, or the statement has its own.
    const fresh = (s) => s.scope !== s.seen;
    const access = (s) => {
      const names = new Set();
      let isFunction = false;
      for (let i = s.scope; i !== s.seen; i = scopes[i].parent) {
        isFunction ||= scopes[i].self;
        if (scopes[i].parent >= 0 || isModule) for (const n of scopes[i].names) names.add(n);
      }
      if (s.access && !s.hasPrivate && !isFunction && names.size === 0) return s.access;
      if (isFunction && s.hasArguments) names.add('arguments');
      return (s.hasPrivate ? '__app_e=>__app_e?eval(__app_e):this*' : '()=>') + [...names, ...(isFunction ? ['this'] : []), ...(s.access ? [s.access] : [])].join('*');
    };
    const newAccess = (s) => {
      const own = access(s);
      if (own === s.access) return ['', { ...s, seen: s.scope }];
      const name = `__app_${s.depth}${s.depth === 0 && !isModule ? `_${firstProbe}` : ''}`;
      return [`let ${name}=${own};`, { ...s, access: name, depth: s.depth + 1, seen: s.scope }];
    };
    const probe = (n, s) => {
      probes.push({
        line: n.loc.start.line - 1, column: n.loc.start.column, scope: s.scope, function: s.name, functionLine: s.line, functionColumn: s.column,
        endLine: lastLine(n), calls: s.calls.splice(0, 2), caught: s.caught, debugger: n.type === 'DebuggerStatement', suspends: s.suspendable && suspends(n), again: s.again,
      });
      return `__app_p(${firstProbe + probes.length - 1},${fresh(s) ? access(s) : s.access});`;
    };
    const passing = (caught, leaves) => `}catch(_){throw __app_c(_${caught ? ',1' : ''})}${leaves ? 'finally{__app_l()}' : ''}`;
    const guard = (from, to, s, leaves) => {
      insert(from, true, 'try{');
      return () => insert(to, false, passing(s.caught, leaves));
    };

    const statements = (list, s) => {
      for (const n of list) {
        let d = n;
        if ((n.type === 'ExportNamedDeclaration' || n.type === 'ExportDefaultDeclaration') && n.declaration) d = n.declaration;
        const silent = n.directive !== undefined || d.type === 'FunctionDeclaration' || n.type === 'EmptyStatement' || n.type === 'BlockStatement'
          || n.type === 'ImportDeclaration' || n.type === 'ExportAllDeclaration' || (n.type === 'ExportNamedDeclaration' && !n.declaration);
        if (!silent) insert(n.start, true, probe(n, s));
        visit(n, s);
      }
    };
    // A statement that is the body of another one.
    const body = (n, s) => {
      if (!n) return;
      if (n.type === 'BlockStatement' || n.type === 'EmptyStatement' || n.type === 'FunctionDeclaration') { visit(n, s); return; }
      const [made, t] = fresh(s) ? newAccess(s) : ['', s];
      insert(n.start, true, '{' + made + probe(n, t));
      visit(n, t);
      insert(n.end, false, '}');
    };

    // Whether a function depends only on its receiver and its parameters.
    const callableAgain = (n) => !n.async && !n.generator && !/arguments|new\.target/.test(source.slice(n.start, n.end)) && n.params.at(-1)?.type !== 'RestElement';
    const func = (n, s, name, constructs) => {
      const names = [];
      for (const p of n.params) patternNames(p, names);
      if (n.type === 'FunctionExpression' && n.id) names.push(n.id.name);
      const block = n.body.type === 'BlockStatement';
      if (block) { hoisted(n.body, names); lexical(n.body.body, names); }
      const inner = {
        scope: newScope('function', names, s.scope), name: n.id ? n.id.name : name || '', line: n.loc.start.line - 1, column: n.loc.start.column,
        calls: [n.start, n.end], caught: false, suspendable: n.async || n.generator, again: !constructs && callableAgain(n), access: s.access, depth: s.depth, seen: s.seen, hasPrivate: s.hasPrivate, hasArguments: s.hasArguments,
      };
      if (n.type !== 'ArrowFunctionExpression') {
        scopes[inner.scope].self = true;
        inner.hasArguments = source.slice(n.start, n.end).includes('arguments');
      }
      for (const p of n.params) visit(p, inner);
      if (block) {
        const list = n.body.body;
        if (list.every((d) => d.directive !== undefined)) return; // No statement to stop at.
        let from = n.body.start + 1, semicolon = '';
        for (const d of list) if (d.directive !== undefined) { from = d.end; semicolon = source[d.end - 1] === ';' ? '' : ';'; }
        const [made, t] = isPlain(list) ? ['', inner] : newAccess(inner);
        // In a block, a function must not have the name of a variable, or of a function in a nested
        // block, which would not set it.
        const vars = new Set(hoisted(n.body, []));
        for (const d of list) if (d.type !== 'FunctionDeclaration') for (const name of nested(d, [])) vars.add(name);
        const guarded = !list.some((d) => d.type === 'FunctionDeclaration' && vars.has(d.id.name)) && !(inner.suspendable && suspendsInHead(n.body));
        insert(from, true, semicolon + (guarded ? 'try{' : '') + made);
        statements(list, t);
        if (guarded) insert(n.body.end - 1, false, passing(false, t.suspendable));
        return;
      }
      const from = arrowBefore(n.body.start);
      // The engine parses an expression in parentheses twice. They are needed only where a line
      // could end after return.
      const [open, end] = /^[ \t]*[^\s/]/.test(source.slice(from, from + 1000)) ? ['', ''] : ['(', ')'];
      insert(from, true, '{try{' + probe(n.body, inner) + 'return' + open);
      visit(n.body, inner);
      insert(n.end, false, end + passing(false, inner.suspendable) + '}');
    };

    const keyName = (n) => (n.computed ? '' : n.key.type === 'PrivateIdentifier' ? '#' + n.key.name : String(n.key.name ?? n.key.value ?? ''));
    const named = (n, s, name) => { if (n && isFunction(n)) func(n, s, name); else if (n) visit(n, s, name); };

    const visit = (n, s, name) => {
      switch (n.type) {
        case 'FunctionDeclaration': case 'FunctionExpression': case 'ArrowFunctionExpression':
          func(n, s, name);
          return;
        case 'StaticBlock':
          s = { ...s, scope: newScope('block', hoisted(n, lexical(n.body, [])), s.scope), hasArguments: false };
          scopes[s.scope].self = true;
          statements(n.body, s);
          return;
        case 'BlockStatement': {
          const names = lexical(n.body, []);
          let t = names.length ? { ...s, scope: newScope('block', names, s.scope) } : s;
          if (fresh(t) && n.body.length) {
            let made;
            [made, t] = newAccess(t);
            insert(n.start + 1, true, made);
          }
          statements(n.body, t);
          return;
        }
        case 'IfStatement':
          visit(n.test, s); body(n.consequent, s); body(n.alternate, s);
          return;
        case 'WhileStatement':
          visit(n.test, s); body(n.body, s);
          return;
        case 'WithStatement': // In its body a probe would be looked up in the object.
          visit(n.object, s);
          return;
        case 'DoWhileStatement':
          body(n.body, s); visit(n.test, s);
          return;
        case 'ForStatement': case 'ForInStatement': case 'ForOfStatement': {
          const head = n.init ?? n.left;
          let t = s;
          if (head && head.type === 'VariableDeclaration' && head.kind !== 'var') t = { ...s, scope: newScope('block', lexical([head], []), s.scope) };
          for (const c of [head, n.test, n.update, n.right]) if (c) visit(c, t);
          body(n.body, t);
          return;
        }
        case 'LabeledStatement':
          visit(n.body, s);
          return;
        case 'SwitchStatement': {
          visit(n.discriminant, s);
          const names = lexical(n.cases.flatMap((c) => c.consequent), []);
          const t = names.length ? { ...s, scope: newScope('block', names, s.scope) } : s;
          for (const c of n.cases) { if (c.test) visit(c.test, t); statements(c.consequent, t); }
          return;
        }
        case 'TryStatement': {
          const t = n.handler ? { ...s, caught: true } : s;
          if (n.block.body.length) {
            const end = guard(n.block.start + 1, n.block.end - 1, t, false);
            visit(n.block, t);
            end();
          }
          if (n.handler) {
            const names = patternNames(n.handler.param, []);
            const h = names.length ? { ...s, scope: newScope('catch', names, s.scope) } : s;
            if (n.handler.param) visit(n.handler.param, h);
            visit(n.handler.body, h);
          }
          if (n.finalizer) visit(n.finalizer, s);
          return;
        }
        case 'ClassDeclaration': case 'ClassExpression': {
          const className = n.id ? n.id.name : name || '';
          const hasPrivate = s.hasPrivate || n.body.body.some((m) => m.key?.type === 'PrivateIdentifier');
          let t = n.type === 'ClassExpression' && n.id ? { ...s, scope: newScope('block', [n.id.name], s.scope) } : s;
          if (n.superClass) visit(n.superClass, t);
          t = { ...t, hasPrivate };
          for (const m of n.body.body) {
            if (m.type === 'StaticBlock') {
              visit(m, { ...t, calls: [m.start, m.end], name: '<static_initializer>', line: m.loc.start.line - 1, column: m.loc.start.column, caught: false, suspendable: false, again: false });
              continue;
            }
            if (m.computed) visit(m.key, t);
            const f = { ...t, caught: false, suspendable: false };
            if (m.kind === 'constructor') { func(m.value, f, className, true); continue; }
            if (m.value) named(m.value, f, (m.kind === 'get' || m.kind === 'set' ? m.kind + ' ' : '') + keyName(m));
          }
          return;
        }
        case 'Property':
          if (n.computed) visit(n.key, s);
          named(n.value, s, keyName(n));
          return;
        case 'VariableDeclarator':
          visit(n.id, s);
          named(n.init, s, n.id.type === 'Identifier' ? n.id.name : '');
          return;
        case 'AssignmentExpression':
          visit(n.left, s);
          named(n.right, s, n.left.type === 'Identifier' ? n.left.name : n.left.type === 'MemberExpression' && !n.left.computed ? n.left.property.name : '');
          return;
        default:
          for (const c of children(n)) visit(c, s);
      }
    };

    const names = lexical(tree.body, hoisted(tree, []));
    const top = {
      scope: newScope(isModule ? 'module' : 'script', names, -1), name: '', line: 0, column: 0, calls: [0, source.length], caught: false, suspendable: isModule, again: false,
      access: '', depth: 0, seen: -1, hasPrivate: false, hasArguments: false,
    };
    scopes[top.scope].self = true;
    const [made, outermost] = newAccess(top);
    const first = tree.body.find((n) => n.directive === undefined);
    if (first) insert(first.start, true, made);
    statements(tree.body, outermost);

    const order = insertions.map((x, i) => ({ ...x, i }));
    order.sort((a, b) => a.pos - b.pos || Number(a.opens) - Number(b.opens) || a.i - b.i);
    let code = '', last = 0;
    for (const x of order) {
      code += source.slice(last, x.pos) + x.text;
      last = x.pos;
    }
    return JSON.stringify({ code: code + source.slice(last), probes, scopes });
  };
});
