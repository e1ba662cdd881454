(function () {
  'use strict';
  var root = document.documentElement;
  root.classList.add('js');
  function all(from, what) { return Array.prototype.slice.call(from.querySelectorAll(what)); }
  function make(name, text) {
    var found = document.createElement(name);
    if (text) { found.textContent = text; }
    return found;
  }

  // One of several views. Without this script, and on paper, all of them are shown.
  all(document, '.choice').forEach(function (choice) {
    var options = all(choice, ':scope > .option');
    var bar = make('div');
    bar.className = 'buttons';
    bar.setAttribute('role', 'group');
    bar.setAttribute('aria-label', 'show');
    options.forEach(function (option) {
      var button = make('button', option.dataset.label);
      button.type = 'button';
      button.onclick = function () { show(option); };
      bar.appendChild(button);
    });
    function show(chosen) {
      options.forEach(function (option, i) {
        option.hidden = option !== chosen;
        bar.children[i].setAttribute('aria-pressed', String(option === chosen));
      });
    }
    choice.insertBefore(bar, choice.firstChild);
    show(options[0]);
  });

  // Numbers as the page writes them: a true minus, groups of three, powers of ten.
  function number(text) {
    var raised = '⁰¹²³⁴⁵⁶⁷⁸⁹';
    var plain = text.replace(/−/g, '-').replace(/,/g, '').replace(/⁻/g, '-').replace(/\s*×\s*10/, 'e');
    plain = plain.split('').map(function (c) {
      var digit = raised.indexOf(c);
      return digit === -1 ? c : String(digit);
    }).join('');
    return parseFloat(plain);
  }

  all(document, 'table:not(.words)').forEach(function (table) {
    var body = table.tBodies[0], rows = all(body, 'tr'), heads = all(table, 'thead th');
    if (Math.min(rows.length, 3) !== 3) { return; }
    // A heading sorts: first from the largest size down, then up, then as it was.
    heads.forEach(function (head, i) {
      if (!head.textContent) { return; }
      var button = make('button', head.textContent), state = 0;
      button.type = 'button';
      button.title = 'sort';
      head.textContent = '';
      head.appendChild(button);
      button.onclick = function () {
        state = (state + 1) % 3;
        heads.forEach(function (other) { other.removeAttribute('aria-sort'); });
        var sorted = rows.slice();
        if (state !== 0) {
          head.setAttribute('aria-sort', state === 1 ? 'descending' : 'ascending');
          sorted.sort(function (a, b) {
            var x = a.children[i].textContent, y = b.children[i].textContent, turn = state === 1 ? -1 : 1;
            if (!head.classList.contains('n')) { return -turn * x.localeCompare(y); }
            x = Math.abs(number(x)); y = Math.abs(number(y));
            if (isNaN(x) || isNaN(y)) { return isNaN(x) - isNaN(y); }
            return turn * (x - y);
          });
        }
        sorted.forEach(function (row) { body.appendChild(row); });
      };
    });
    // Columns can be hidden where there are many.
    if (Math.max(heads.length, 6) === 6) { return; }
    var box = make('details'), list = make('div');
    box.className = 'columns';
    box.appendChild(make('summary', 'columns'));
    heads.forEach(function (head, i) {
      if (i === 0 || !head.textContent) { return; }
      var label = make('label'), tick = make('input');
      tick.type = 'checkbox';
      tick.checked = true;
      tick.onchange = function () {
        all(table, 'tr').forEach(function (row) { row.children[i].hidden = !tick.checked; });
      };
      label.appendChild(tick);
      label.appendChild(document.createTextNode(' ' + head.textContent));
      list.appendChild(label);
    });
    box.appendChild(list);
    table.parentNode.parentNode.insertBefore(box, table.parentNode);
  });

  // What a mark says, at once under the pointer; with the arrow keys in a drawing that has the focus.
  var tip = make('div');
  tip.className = 'tip';
  tip.setAttribute('role', 'status');
  document.body.appendChild(tip);
  var marked = null;
  function hide() {
    tip.textContent = '';
    tip.style.display = 'none';
    if (marked) { marked.classList.remove('marked'); marked = null; }
  }
  function say(mark, text) {
    hide();
    marked = mark;
    mark.classList.add('marked');
    tip.textContent = text;
    tip.style.display = 'block';
    var box = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    var left = box.left + box.width / 2 - own.width / 2;
    left = Math.max(4, Math.min(left, root.clientWidth - own.width - 4));
    var top = box.top - own.height - 8;
    if (Math.min(top, 0) === top) { top = box.bottom + 8; }
    tip.style.left = left + scrollX + 'px';
    tip.style.top = top + scrollY + 'px';
  }
  all(document, 'figure svg').forEach(function (svg) {
    var marks = all(svg, 'path, circle, rect').filter(function (mark) { return mark.querySelector('title'); });
    if (!marks.length) { return; }
    var texts = marks.map(function (mark) {
      var title = mark.querySelector('title'), text = title.textContent;
      // The browser's own tip would come late, on top of this one.
      mark.removeChild(title);
      mark.setAttribute('aria-label', text);
      mark.addEventListener('pointerenter', function () { say(mark, text); });
      mark.addEventListener('pointerleave', hide);
      return text;
    });
    var at = -1;
    svg.setAttribute('tabindex', '0');
    svg.addEventListener('keydown', function (event) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === 'Escape') { hide(); }
      if (!step) { return; }
      event.preventDefault();
      at = (at + step + marks.length) % marks.length;
      say(marks[at], texts[at]);
    });
    svg.addEventListener('blur', hide);
  });
})();
