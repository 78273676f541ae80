#include "text/json_lexer.h"

namespace ridge::text {

JsonLexer::JsonLexer() {
  add_strings();
  add_integers();
  add_numbers();
}

uint32_t JsonLexer::add(bool accepts) {
  Row& row = rows_.emplace_back();
  row.next.fill(kNowhere);
  row.accepts = accepts;
  return size() - 1;
}

void JsonLexer::set(uint32_t from, uint8_t first, uint8_t last, uint32_t to) {
  for (int byte = first; byte <= last; ++byte) {
    rows_[from].next[byte] = static_cast<uint8_t>(to);
    rows_[from].bytes.set(byte);
  }
}

void JsonLexer::set(uint32_t from, const char* bytes, uint32_t to) {
  for (; *bytes; ++bytes) set(from, *bytes, *bytes, to);
}

void JsonLexer::set_hexadecimal(uint32_t from, uint32_t to) {
  set(from, '0', '9', to);
  set(from, 'a', 'f', to);
  set(from, 'A', 'F', to);
}

uint32_t JsonLexer::add_run(int count, uint8_t first, uint8_t last, uint32_t to) {
  for (; count > 0; --count) {
    const uint32_t from = add();
    set(from, first, last, to);
    to = from;
  }
  return to;
}

uint32_t JsonLexer::add_hexadecimal_run(int count, uint32_t to) {
  for (; count > 0; --count) {
    const uint32_t from = add();
    set_hexadecimal(from, to);
    to = from;
  }
  return to;
}

// Characters without an escape, from `between` back to it: well-formed UTF-8 (Unicode 16, table 3-7), no " and \.
void JsonLexer::add_characters(uint32_t between) {
  set(between, 0x20, 0x7F, between);
  const uint32_t last = add_run(1, 0x80, 0xBF, between);
  const uint32_t last_two = add_run(1, 0x80, 0xBF, last);
  const uint32_t last_three = add_run(1, 0x80, 0xBF, last_two);
  set(between, 0xC2, 0xDF, last);
  set(between, 0xE0, 0xE0, add_run(1, 0xA0, 0xBF, last));
  set(between, 0xE1, 0xEC, last_two);
  set(between, 0xED, 0xED, add_run(1, 0x80, 0x9F, last));
  set(between, 0xEE, 0xEF, last_two);
  set(between, 0xF0, 0xF0, add_run(1, 0x90, 0xBF, last_two));
  set(between, 0xF1, 0xF3, last_three);
  set(between, 0xF4, 0xF4, add_run(1, 0x80, 0x8F, last_two));
}

void JsonLexer::add_strings() {
  text_start = add();
  text = add();
  add_characters(text);
  const uint32_t escape = add();
  set(escape, "\"\\/bfnrt", text);
  set(text, "\\", escape);

  // \uXXXX: a high surrogate (D800–DBFF) is followed by a low one (DC00–DFFF), which never stands alone.
  const uint32_t low_digits = add_hexadecimal_run(2, text);
  const uint32_t low = add();
  set(low, "cdefCDEF", low_digits);
  const uint32_t low_d = add();
  set(low_d, "dD", low);
  const uint32_t high_digits = add_hexadecimal_run(2, add_run(1, '\\', '\\', add_run(1, 'u', 'u', low_d)));
  const uint32_t second = add();
  set(second, '0', '7', add_hexadecimal_run(2, text));
  set(second, "89abAB", high_digits);
  const uint32_t digits = add();
  set_hexadecimal(digits, add_hexadecimal_run(3, text));
  set(digits, "dD", second);
  set(escape, "u", digits);

  set(text, "\"", add(true));
  set(text_start, "\"", text);
}

void JsonLexer::add_integers() {
  integer_start = add();
  const uint32_t minus = add(), zero = add(true);
  set(integer_start, "-", minus);
  uint32_t digits = add(true);
  for (const uint32_t from : {integer_start, minus}) {
    set(from, "0", zero);
    set(from, '1', '9', digits);
  }
  for (int count = 1; count < kWholeDigits; ++count) {
    const uint32_t more = add(true);
    set(digits, '0', '9', more);
    digits = more;
  }
}

void JsonLexer::add_numbers() {
  uint32_t exponent_digits = add(true);
  for (int count = 1; count < kExponentDigits; ++count) {
    const uint32_t fewer = add(true);
    set(fewer, '0', '9', exponent_digits);
    exponent_digits = fewer;
  }
  const uint32_t signed_exponent = add_run(1, '0', '9', exponent_digits), exponent = add();
  set(exponent, "+-", signed_exponent);
  set(exponent, '0', '9', exponent_digits);

  uint32_t fraction = add(true);
  set(fraction, "eE", exponent);
  for (int count = 1; count < kFractionDigits; ++count) {
    const uint32_t fewer = add(true);
    set(fewer, '0', '9', fraction);
    set(fewer, "eE", exponent);
    fraction = fewer;
  }
  const uint32_t point = add_run(1, '0', '9', fraction);

  number_start = add();
  const uint32_t minus = add(), zero = add(true);
  set(number_start, "-", minus);
  uint32_t whole = add(true);
  for (const uint32_t from : {number_start, minus}) {
    set(from, "0", zero);
    set(from, '1', '9', whole);
  }
  set(zero, ".", point);
  set(zero, "eE", exponent);
  for (int count = 1;; ++count) {
    set(whole, ".", point);
    set(whole, "eE", exponent);
    if (count == kWholeDigits) break;
    const uint32_t more = add(true);
    set(whole, '0', '9', more);
    whole = more;
  }
}

const JsonLexer& json_lexer() {
  static const JsonLexer lexer;
  return lexer;
}

}  // namespace ridge::text
