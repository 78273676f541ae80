// JSON's strings and numbers as one table of bytes: state × byte → state. RFC 8259, narrowed so that what is written
// can be read by anyone: strings are UTF-8 without lone surrogates; numbers are bounded (below). Not for whole
// documents: json_machine.h; nor for keys and patterns, whose characters have one form: character_table.h. Immutable.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

namespace ridge::text {

using ByteSet = std::bitset<256>;

class JsonLexer {
 public:
  static constexpr uint32_t kNoState = ~uint32_t{0};
  // Digits of a number: what an int64_t holds; what a double's shortest form needs; exponents that never overflow one.
  static constexpr int kWholeDigits = 18, kFractionDigits = 24, kExponentDigits = 2;

  JsonLexer();

  uint32_t next(uint32_t state, uint8_t byte) const {
    const uint8_t next = rows_[state].next[byte];
    return next == kNowhere ? kNoState : next;
  }
  // Bytes that lead on from it; none: its token is complete.
  const ByteSet& bytes(uint32_t state) const { return rows_[state].bytes; }
  // Its token may end here.
  bool accepts(uint32_t state) const { return rows_[state].accepts; }
  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }

  // Before the token, and between two characters of a string.
  uint32_t text_start = 0, text = 0, integer_start = 0, number_start = 0;

 private:
  static constexpr uint8_t kNowhere = 255;
  struct Row {
    std::array<uint8_t, 256> next{};
    ByteSet bytes;
    bool accepts = false;
  };
  uint32_t add(bool accepts = false);
  // Bytes first … last of `from` lead to `to`.
  void set(uint32_t from, uint8_t first, uint8_t last, uint32_t to);
  void set(uint32_t from, const char* bytes, uint32_t to);
  void set_hexadecimal(uint32_t from, uint32_t to);
  // So many more bytes first … last, then `to`.
  uint32_t add_run(int count, uint8_t first, uint8_t last, uint32_t to);
  uint32_t add_hexadecimal_run(int count, uint32_t to);
  void add_characters(uint32_t between);
  void add_strings();
  void add_integers();
  void add_numbers();

  std::vector<Row> rows_;
};

const JsonLexer& json_lexer();

}  // namespace ridge::text
