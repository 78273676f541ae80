// Members of tokenizer.json, read by simdjson: an object and its place, for messages. Lives like the parser.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::text {

class JsonPart {
 public:
  static Result<JsonPart> from(simdjson::dom::element element, std::string where);

  bool has(std::string_view key) const;  // and is not null
  // kInvalid: missing (without `otherwise`), or of another type.
  Result<std::string_view> text(std::string_view key) const;
  Result<std::string_view> text_or(std::string_view key, std::string_view otherwise) const;
  Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  Result<int64_t> integer_or(std::string_view key, int64_t otherwise) const;
  Result<JsonPart> object(std::string_view key) const;
  Result<simdjson::dom::array> array(std::string_view key) const;
  // The array's elements as objects.
  Result<std::vector<JsonPart>> objects(std::string_view key) const;
  // A text that is one character.
  Result<char32_t> character(std::string_view key) const;

  simdjson::dom::object members() const { return object_; }
  const std::string& where() const { return where_; }
  Error wrong(std::string_view key, std::string_view expected) const;
  // A part of a kind that is not known here.
  Error unknown(std::string_view type, std::string_view known) const;

 private:
  JsonPart(simdjson::dom::object object, std::string where) : object_(object), where_(std::move(where)) {}
  template <typename T>
  Result<T> get(std::string_view key, std::string_view expected) const;

  simdjson::dom::object object_;
  std::string where_;
};

}  // namespace ridge::text
