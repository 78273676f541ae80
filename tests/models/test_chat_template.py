"""ridge's chat templates give what Jinja2 gives, set up as the transformers library sets it up: on templates in the
shapes that people use, and on single expressions.
"""

import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.sandbox
import pytest

from text_answers import ask


class Generation(jinja2.ext.Extension):
    """{% generation %}…{% endgeneration %}, which says which part is the assistant's."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                        extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return made


JINJA = environment()
compiled = functools.lru_cache(None)(JINJA.from_string)

TOOLS = [
    {"type": "function",
     "function": {"name": "get_weather", "description": "The weather of a \"city\" <now> & later", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "Name, e.g. 北京"},
                                         "days": {"type": "integer", "enum": [1, 2]},
                                         "detailed": {"type": "boolean", "default": False}}, "required": ["city"]}}},
    {"type": "function",
     "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
]
CALL = {"id": "call_1", "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2, "share": 0.5}}}
CONVERSATIONS = [
    [{"role": "user", "content": "Hello"}],
    [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "  Hi 🙂 \n"}],
    [{"role": "user", "content": "1"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\ntwo"},
     {"role": "user", "content": "3"}],
    [{"role": "user",
      "content": [{"type": "text", "text": "part one"}, {"type": "image"}, {"type": "text", "text": "part two"}]}],
    [{"role": "system", "content": "Sys"}, {"role": "user", "content": "Weather?"},
     {"role": "assistant", "content": "", "tool_calls": [CALL, CALL]},
     {"role": "tool", "name": "get_weather", "content": "rain"},
     {"role": "tool", "name": "get_weather", "content": "{\"t\": 3}"},
     {"role": "assistant", "content": "Rain.", "reasoning_content": "It said rain"},
     {"role": "user", "content": "Thanks"}],
    [{"role": "assistant", "content": "first"}, {"role": "assistant", "content": "second"}],
]

TEMPLATES = {
    "chatml": """
{%- if not messages or messages[0]['role'] != 'system' -%}
    {{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
{%- endif -%}
{%- for message in messages -%}
    {{- '<|im_start|>' + message['role'] + '\\n' }}
    {%- if message.content is string -%}
        {{- message.content | trim }}
    {%- else -%}
        {%- for part in message.content if part.type == 'text' %}{{ part.text }}{% if not loop.last %} {% endif
        %}{% endfor -%}
    {%- endif -%}
    {{- '<|im_end|>' + '\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
""",
    "lines and blocks": """{# a comment #}
{% set ns = namespace(n=0, seen=[]) %}
<<{{ bos_token }}>>
  {% for message in messages %}
    {% set ns.n = ns.n + 1 %}
    {% set ns.seen = ns.seen + [message.role] %}
    {% if message.role == 'system' %}{% continue %}{% endif %}
  [{{ loop.index }}/{{ loop.length }} {{ loop.revindex0 }} {{
      loop.previtem.role if loop.previtem is defined else 'none' }}] {{ message.role | upper }}:
    {%+ if loop.first %}first{% endif +%}
    {% if ns.n > 4 %}{% break %}{% endif %}
    {% else %}
nothing
  {% endfor %}
{{ ns.n }} {{ ns.seen | join(',') }} {{ ns.seen | unique | list | tojson }}
{% raw %}{{ not }} {% this %}{% endraw %}

{% generation %}
answer {{ ns.n }}
{% endgeneration %}
""",
    "headers and tools": """{{- bos_token }}
{%- if custom_tools is defined %}{%- set tools = custom_tools %}{%- endif %}
{%- if not tools_in_user_message is defined %}{%- set tools_in_user_message = true %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|header|>system<|end|>\\n\\n" }}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- system_message }}
{%- if tools_in_user_message and not tools is none and messages | length != 0 %}
    {%- set first = messages[0]['content'] %}
    {%- set messages = messages[1:] %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first if first is string else first | map(attribute='text') | select('defined') | join('|') }}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|header|>' + message['role'] + '<|end|>\\n\\n' + (message['content'] | string | trim) + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- "several" }}{%- endif %}
        {%- for call in message.tool_calls %}
            {%- set f = call.function %}
            {{- '{"name": "' + f.name + '", ' + '"parameters": ' }}{{ f.arguments | tojson }}{{ "}" }}
        {%- endfor %}
    {%- elif message.role in ["tool", "ipython"] %}
        {%- if message.content is mapping or message.content is iterable and message.content is not string %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|header|>assistant<|end|>\\n\\n' }}{%- endif %}
""",
    "turns must alternate": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.tool_calls is defined) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must alternate user and assistant") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and tools is defined
               and (message == (loop_messages | selectattr("role", "equalto", "user") | list | last)) %}
            {{- "[TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] | string + "[/INST]" }}
        {%- else %}
            {{- "[INST] " ~ message["content"] ~ "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {{- ", " if not loop.last else "]" + eos_token }}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- endif %}
{%- endfor %}
""",
    "thinking": """{%- macro render_content(content, limit=100) -%}
    {%- if content is string -%}
        {{- content[:limit] -}}
    {%- elif content is iterable and content is not mapping -%}
        {%- for item in content -%}
            {%- if 'text' in item -%}{{- item.text -}}{%- else -%}<{{ item.type }}>{%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools>\\n{\\"name\\": <function-name>}<|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(
               message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = render_content(message.content) %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n')
                + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}{{- '\\n' }}{%- endif %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}{{- tool_call.arguments }}
                {%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' }}{{- content }}{{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
""",
    "turns": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}{%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}{%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}{%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = "model" if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}{{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}{{ '<image>' }}
            {%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}{{ raise_exception("Invalid content type") }}{%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<start_of_turn>model\\n'}}{%- endif -%}
""",
    "typescript of tools": """{%- macro render_type(spec, depth=0) -%}
    {%- if spec.enum is defined -%}{{ spec.enum | map('tojson') | join(' | ') }}
    {%- elif spec.type in ['integer', 'number'] -%}number
    {%- elif spec['type'] == 'object' -%}
{ {%- for name, inner in spec.properties.items() | sort -%}
{{ name }}{{ '?' if name not in (spec.required or []) }}: {{ render_type(inner, depth=depth + 1)
}}{{ ', ' if not loop.last }}
{%- endfor -%} }
    {%- else -%}{{ spec.type | default('any') }}{%- if 'default' in spec %} = {{ spec.default }}{% endif -%}
    {%- endif -%}
{%- endmacro -%}
{% set body %}
namespace functions {
{% for tool in tools or [] %}
// {{ tool.function.description | replace('"', "'") | indent(2) }}
type {{ tool.function.name | title }} = (_: {{ render_type(tool.function.parameters) }}) => any;
{% endfor %}
}
{% endset %}
{{ body | trim }}
{%- for role, group in {'user': 1, 'tool': 2}.items() %} {{ role }}{{ group }}={{
    messages | selectattr('role', 'eq', role) | list | length }}{% endfor %}
 {{ messages | rejectattr('content') | map(attribute='role') | list }} {{
    messages | map(attribute='name', default='-') | join(' ') }}
""",
}

EXPRESSIONS = [
    "1 + 2 * 3 - 4 / 2", "7 // 2, -7 // 2, 7 % 3, -7 % 3, 2 ** 10, 2 ** -1, 7.5 // 2", "1 if false",
    "1 < 2 < 3, 3 > 2 >= 2, 1 == 1.0, true == 1",
    "'a' ~ 1 ~ none ~ true ~ 1.5 ~ [1, 'x', none] ~ {'k': 'v\"\\''}", "not x and not false or true",
    "'ab' * 3, [1] * 2", "1e20, 0.1 + 0.2, 1e-7, 100.0, 1e16",
    "'a,b,,c'.split(','), ' a  b '.split(), 'a b c d'.split(' ', 2), 'a b c'.split(none, 1), 'a b c d'.rsplit(' ', 1), "
    "'a  b  c '.rsplit(none, 1), ' a b '.split(none, 1), ' a b '.rsplit(none, 1)",
    "'  x '.strip(), 'xxaxx'.strip('x'), 'xyaxy'.lstrip('xy'), 'axy'.rstrip('yx')",
    "'Straße éa'.upper(), 'ÀB'.lower(), \"they're bill's\".title(), 'hELLO wORLD'.capitalize()",
    "'hello world-x (y)' | title, 'ABC' | lower, 'abc' | upper, 'aBC' | capitalize",
    "'banana'.replace('a', 'o'), 'banana'.replace('a', 'o', 2), 'ab'.replace('', '-'), 'banana' | replace('an', '')",
    "'banana'.find('n'), 'banana'.rfind('n'), 'banana'.find('z'), 'banana'.count('an'), 'banana'.index('b'), "
    "'üb'.find('b')",
    "'héllo'[1], 'héllo'[-1], 'héllo'[1:3], 'héllo'[::-1], 'héllo'[:-2], 'abc'[5:], 'abc'[-10:2]",
    "[1,2,3,4][1:3], [1,2,3,4][::-1], [1,2,3,4][::2], [1,2,3,4][-2:], (1,2,3)[1:], [1,2][9] is defined",
    "[3,1,2] | sort, ['b','A','c'] | sort, [3,1,2] | sort(reverse=true), ['b','A'] | sort(case_sensitive=true)",
    "[1,2,3] | sum, [1,2.5] | sum, [{'a':1},{'a':2}] | sum(attribute='a')",
    "[1,2,3] | first, [1,2,3] | last, [] | first is defined, 'abc' | first, 'abc' | last",
    "[1,2,3] | map('string') | list, ['a','b'] | map('upper') | join('-')",
    "[1,0,2] | select | list, [1,2,3] | select('odd') | list, [1,2,3] | reject('gt', 1) | list, [1,2,3] | select('in', "
    "[1,3]) | list", "[1,2] | length, 'äö' | length, {} | length, x | length",
    "x | default('d'), '' | default('d'), '' | default('d', true), none | default('d'), false | d('e', boolean=true)",
    "'12' | int, '12.7' | int, 'x' | int, 'x' | int(5), 3.9 | int, ' 7 ' | int, '1.5' | float, 'y' | float",
    "2.5 | round, 2.675 | round(2), 2.4 | round(method='ceil'), -2.5 | round, 2.45 | round(1, 'floor'), 5 | round",
    "-3 | abs, -2.5 | abs, [1,5,3] | max, ['b','A'] | min",
    "{'b':1,'a':2} | dictsort, {'b':1,'a':2} | dictsort(by='value', reverse=true), {'a':1} | items | list",
    "{'a':{'b':[1,2]}} | tojson, {'b':1,'a':'ü\"\\n\\u0001<>'} | tojson(sort_keys=true), [1.0, 1e20, none, "
    "true] | tojson",
    "{'a':[1,{'b':[]}], 'c':{}} | tojson(indent=2)",
    "{'a':[1,2]} | tojson(separators=(',', ':')), 'é' | tojson(ensure_ascii=true), '🙂' | tojson(ensure_ascii=true)",
    "'a\\nb\\n\\nc' | indent, 'a\\nb' | indent(2, true), 'a\\n\\nb' | indent('> ', blank=true)",
    "x is defined, x is undefined, none is none, 'a' is string, 1 is number, true is number, true is integer, "
    "1.0 is float, true is boolean",
    "{} is mapping, [] is sequence, 'a' is iterable, [] is iterable, 1 is iterable, 3 is odd, 4 is even, "
    "9 is divisibleby 3, 1 is eq 1, 2 is in [1,2], true is true, 1 is true, 'a' is lower, 'A1' is upper",
    "'a' in 'abc', 'a' in ['a'], 'k' in {'k': 1}, 'z' not in 'abc', 1 in [1.0]",
    "range(3) | list, range(1, 7, 2) | list, range(3, 0, -1) | list", "dict(a=1, b='x'), dict({'a': 1}, b=2)",
    "'abc'.startswith('a'), 'abc'.endswith(('b', 'c')), 'abc'.startswith(('x', 'y'))",
    "'12'.isdigit(), 'a1'.isalpha(), 'AB'.isupper(), 'ab1'.islower(), '  '.isspace(), ''.isdigit()",
    "'a\\nb\\r\\nc'.splitlines(), '-'.join(['a', 'b']), 'prefix-x'.removeprefix('prefix-'), 'x.py'.removesuffix('.py')",
    "{'a': 1}.get('a'), {'a': 1}.get('b'), {'a': 1}.get('b', 2), {'a': 1}.keys() | list, {'a': 1}.values() | list",
    "{'items': 5}['items'], {'a': 1}.a, {'a': 1}['b'] is defined, [[1, 2]][0][1], {'a': {'b': 7}}.a.b, [{'n': 4}].0.n",
    "(1,), (), (1, 2), [none, true, 1.5, 'a\\'b']", "'%' ~ 'a' 'b' \"c\"", "-2 ** 2, -3 | abs, - 1 + 2",
    "[1,2,3] | reverse | list, 'abc' | reverse, [1,1,2,'a','A'] | unique | list",
    "'x' if x is not defined and 1 else 'y'", "['a', 'b'] | join(', ') | upper ~ '!'",
    "[{'a': {'b': 2}}, {'a': {'b': 1}}] | sort(attribute='a.b') | map(attribute='a.b') | list",
    "[{'a': 1}, {'b': 2}] | selectattr('a', 'defined') | list, [{'a': 1}, {'a': 2}] | rejectattr('a', '==', 1) | list, "
    "[{'a': 0}, {'a': 2}] | selectattr('a') | list", "strftime_now('%Y-%m-%d')", "'\\x41\\u00e9\\t'",
    "1_000, 7 if false else 1",
    "[1, 2] == [1, 2], (1, 2) == [1, 2], {'a': 1} == {'a': 1.0}, 'a' < 'b', [1, 2] < [1, 3]",
    "true + 1, 'a' | string, 5 | string | length, none | string, x | trim, ' a ' | trim, 'xax' | trim('x')",
    "1 | tojson | safe ~ '<a>' | safe", "[1, [2, (3, 'x')], {'d': {}}]", "'a' if 0 else 'b' if '' else 'c'",
    "namespace(a=1).a, namespace(a=1).b is defined",
    # Filters that go through nothing.
    "none | selectattr('type', 'equalto', 'x') | list | length, none | map('upper') | list, "
    "none | rejectattr('a') | list, none | map(attribute='a') | join, 0 | select | list, x | reject('nothing') | list",
    # Markup: its + escapes the other side.
    "'<a>' | safe + '<b>\"', '<b>&' + ('<a>' | safe), ('<a>' | safe) + ('<b>' | safe), ('<a>' | safe) ~ '<b>', "
    "('<' | safe) * 2, ('<a>' | safe) + 'x' + '<'",
    "('<a>' | safe | upper) + '<', ('a<' | safe)[1:] + '<', ('<a' | safe)[0] + '<', (' <' | safe | trim) + '<', "
    "('<' | safe | lower | string) + '<', ('<a>' | safe | reverse) + '<', ('<' | safe | replace('<', '>')) + '<', "
    "('<' | safe | title) + '<'",
    "('<' | safe).strip() + '<', ('<,' | safe).split(',')[0] + '<', ('<' | safe).replace('<', '>') , "
    "('<' | safe).join(['<', '>' | safe]), ('<{}' | safe).format('<'), ('<%s' | safe) % '<', "
    "'%s' % ('<' | safe) + '<', ('<' | safe).upper() + '<', ('a<b' | safe).partition('<')[0] + '<'",
    "['<' | safe, ('<' | safe) == '<', {'<' | safe: 1}['<']], '<' | safe is escaped, '<' is escaped, '<a \\'\"&>' | e, "
    "'<' | e | e, ('<' | safe | tojson) + '<', ('a\nb' | safe | indent) + '<', ('<' | safe) | capitalize + '<'",
    # Keys of any kind.
    "{0: 'a', 1: 'b', 512: 'c'}[512], {1: 'a'}[true], {1: 'a', true: 'b'}, {1.0: 'x'}[1], {none: 1}[none], {(1, 'a'): "
    "2}[(1, 'a')], {1: 2}.get(1), {1: 2}.get('1', 7), 1 in {1: 2}, '1' in {1: 2}, {1: 2}['1'] is defined",
    "{0: 'a', 'k': {1.5: 2, none: 3, false: 4}} | tojson, {2: 'b', 1: 'a'} | tojson(sort_keys=true), {2: 'b', 1: "
    "'a'} | dictsort, {0: 1}.items() | list, {0: 1} | items | list, {3: 1}.keys() | list, {3: 1} | list",
    "{0: 'a'}, {1: 1} == {1.0: 1}, {'b': 1}.copy(), [1].copy()",
    # Formats.
    "'{} and {}'.format(1, 'a'), '{1}{0}{1}'.format('a', 'b'), '{name!r}: {y[0]} {z[k]}'.format(name='n', y=[5], "
    "z={'k': 2}), '{{}}'.format(), '{:>5}|{:<5}|{:^5}|{:*^6}|{:05d}|{:+}|{:,}'.format('a', 'b', 'c', 'd', 42, 7, "
    "1234567)",
    "'{:.2f} {:e} {:g} {:%} {:x} {:#x} {:b} {:#o} {:X}'.format(3.14159, 12345.678, 0.0001, 0.256, 255, 255, 5, 8, "
    "255), '{:.3}'.format('abcdef'), '{:{}}|'.format('a', 4), '{:6.1f}|{:<6}|{:06.2f}'.format(2.25, 1.5, -1.5), "
    "'{} {} {}'.format(none, true, [1, 'a'])",
    "'%s is %d years, %5.1f%% %r %x %05d %-5s| %+d %5s' % ('a', 3, 2.25, 'q', 255, 42, 'l', 7, 'r'), "
    "'%(a)s %(b)d' % {'a': 1, 'b': 2}, '%s' % 'x', '%s' % [1, 'a'], '%d' % 3.7, '%i' % true, '%s' % none, '%%' % ()",
    "'%s-%s' | format('a', 1), '%(a)s' | format(a=2), 'a' | center(4) ~ '|', '%.3s' % 'abcdef', '%-8.3f|' % 3.14159, "
    "'%e' % 12.5",
    "'ab'.center(7), 'ab'.center(6, '*'), 'a'.center(4) ~ '|', 'ab'.ljust(4, '.'), 'ab'.rjust(4), '42'.zfill(5), "
    "'-42'.zfill(5), '+4'.zfill(4), 'abc'.zfill(2)",
    "'a1'.isalnum(), 'a b'.isalnum(), ''.isalnum(), '\u00e9\u4e2d1'.isalnum(), '12'.isdecimal(), 'a'.isascii(), "
    "'\u00e9'.isascii(), 'abcb'.rindex('b'), 'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('x'), "
    "'abc'.rpartition('x')",
]
# Templates that both refuse.
REFUSED = ["{{ x.y }}", "{{ 1 + 'a' }}", "{% for %}", "{% if 1 %}", "{{ 'a' }", "{{ [1 }}", "{% endif %}",
           "{{ 1 / 0 }}", "{{ none.a.b }}", "{% for i in none %}{% endfor %}", "{{ x() }}", "{{ 1 | nofilter }}",
           "{{ 1 is notest }}", "{% unknown %}", "{{ raise_exception('why') }}", "{{ [].append(1) }}", "{{ 'a' < 1 }}",
           "{% set a.b = 1 %}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% for a, b in [[1]] %}{% endfor %}",
           "{{ 'a' | selectattr('b', 'notest') | list }}", "{{ {[1]: 2} }}", "{{ '%d' % 'a' }}", "{{ '%s' % () }}",
           "{{ 'a' % 1 }}", "{{ '{}'.format() }}", "{{ '{' .format(1) }}", "{{ {(1, 2): 1} | tojson }}",
           "{{ {1: 1, 'a': 2} | tojson(sort_keys=true) }}",
           "{{ namespace(a=1) | tojson }}", "{{ range(1000000) }}", "{% break %}", "{{ 'a' 1 }}", "{{ {1 2} }}", "{# x",
           "{% raw %} x"]
BLOCKS = ["{% if false %}{{ 1 | nofilter }}{% elif false %}{{ 1 is notest }}{% endif %}{{ 2 if false else 3 }}"
          "{{ 1 | nofilter if false }}", "a\n  {% if true %}\n  b\n  {% endif %}\n  c\n",
          "{% if true -%}  \n x {%- endif %} y", "  {{- 1 -}}  \n", "  {#- c -#}  z", "  {# c #}\nz", "x {#+ c #}",
          "{%- set a = 1 -%}\n\n{{ a }}\n\n",
          "{% for i in [1,2] %}{{ i }}{% set j = i %}{% endfor %}{{ j is defined }}",
          "{% set a %}\nx{{ 1 }}\n{% endset %}[{{ a }}]", "{% set a | upper | trim %} x {% endset %}[{{ a }}]",
          "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
          "{% for i in range(3) %}{% for j in range(2) %}{{ loop.index }}{{ loop.depth }}{% endfor %}"
          "{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for i in [1,1,2] %}{{ loop.changed(i) }}{% endfor %}",
          "{% for i in [] %}{% else %}none{% endfor %}",
          "{% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %}{% for c in 'xü' %}{{ c }}.{% endfor %}",
          "{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}",
          "{% for i in [1,2,3,4] if i is even %}{{ loop.index }}:{{ i }}/{{ loop.length }} {% endfor %}",
          "{% macro m(a, b='x') %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{% set c = 9 %}{{ m(1) }}{{ m(1, 2) }}"
          "{{ m(b=3) }}",
          "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
          "{% raw -%}\n {{ a }} {%- endraw %} b", "line\r\nother\r",
          "{% if x %}a{% elif not x %}b{% else %}c{% endif %}", "é{{ '\u4e2d' }}\n\n",
          "{% set ns = namespace(found=false) %}{% for i in [1,2] %}{% if i == 2 %}{% set ns.found = true %}{% endif %}"
          "{% endfor %}{{ ns.found }}", "   {%+ if true %} x{% endif %}", "\t{% if true %}\n\tx\n\t{% endif %}\n"]


def rendered(template, variables):
    """Jinja2's output; None: it refuses."""
    try:
        return compiled(template).render(**variables)
    except (jinja2.exceptions.TemplateError, TypeError, ZeroDivisionError, OverflowError, ValueError, LookupError,
            SyntaxError):
        return None


def check(cases):
    found = ask([{"template": template, "variables": variables} for template, variables in cases])
    assert [] == [(template, variables, rendered(template, variables), ours) for (template, variables),
                  ours in zip(cases, found)
                  if ours.get("text") != rendered(template, variables)]


@pytest.mark.parametrize("name", TEMPLATES)
def test_conversations(name):
    variables = [{"messages": messages, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": prompt,
                  **more}
                 for messages in CONVERSATIONS for prompt in (True, False)
                 for more in ({}, {"tools": TOOLS}, {"tools": None, "enable_thinking": False})]
    cases = [(TEMPLATES[name], each) for each in variables]
    assert any(rendered(*case) for case in cases)
    check(cases)


def test_expressions_and_blocks():
    check([("{{ " + expression + " }}", {}) for expression in EXPRESSIONS] + [(block, {}) for block in BLOCKS])
    for expression in EXPRESSIONS:
        assert rendered("{{ " + expression + " }}", {}) is not None, expression


def test_what_jinja_refuses_is_refused_with_its_place():
    for template, ours in zip(REFUSED, ask([{"template": template, "variables": {}} for template in REFUSED])):
        assert rendered(template, {}) is None, template
        assert "line 1, column" in ours["error"], template


def test_what_is_left_out_is_named():
    left_out = {"{% include 'a' %}": "'include'", "{% block a %}{% endblock %}": "'block'",
                "{{ 1 | groupby('a') }}": "'groupby'", "{{ 'a'.translate({}) }}": "'translate'",
                "{{ 'upper' is filter }}": "'filter'"}
    for (template, name), ours in zip(left_out.items(),
                                      ask([{"template": template, "variables": {}} for template in left_out])):
        assert name in ours["error"] and "not supported" in ours["error"]


def test_what_would_run_without_end_is_refused():
    endless = ["{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
               "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{{ 'a' * 99999999999 }}", "{{ 'a' * 2000000000 }}",
               "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
               "{% set n = namespace(s=[]) %}{% for i in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}"
               "{{ n.s | tojson }}",
               "{% set n = namespace(s=[]) %}{% for i in range(9999) %}{% set n.s = [n.s] %}{% endfor %}", "{{ "
               + "(" * 5000 + "1" + ")" * 5000 + " }}", "{{ " + "1 + " * 5000 + "1 }}", "{{ " + "not " * 5000 + "1 }}",
               "{% if 1 %}" * 3000 + "{% endif %}" * 3000, "{{ '\\n' | indent(99999999999) }}",
               "{{ " + "[" * 3000 + "]" * 3000 + " }}", "{{ x" + "|trim" * 5000 + " }}"]
    for template, ours in zip(endless, ask([{"template": template, "variables": {}} for template in endless])):
        assert "error" in ours, template
