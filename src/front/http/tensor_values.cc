#include "front/http/tensor_values.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/number_type.h"
#include "front/base64.h"
#include "front/json_text.h"
#include "text/unicode.h"

namespace ridge::front::http {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxNesting = 100;

std::string found_text(const dom::element& value) {
  std::string text = simdjson::minify(value);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

Error wrong_value(int64_t index, const std::string& expected, const dom::element& found) {
  return {Code::kInvalid,
          "element " + std::to_string(index) + " should be " + expected + ", found " + found_text(found)};
}

// Calls put(value) for every value that is not a list, in order. No recursion: the client chooses the depth.
template <typename Put>
Status for_each_value_in(const dom::array& values, Put put) {
  struct Level {
    dom::array::iterator at, end;
  };
  std::vector<Level> levels{{values.begin(), values.end()}};
  while (!levels.empty()) {
    Level& level = levels.back();
    if (!(level.at != level.end)) {
      levels.pop_back();
      continue;
    }
    dom::element value = *level.at;
    ++level.at;
    if (!value.is_array()) {
      RIDGE_TRY(put(value));
      continue;
    }
    if (levels.size() == kMaxNesting)
      return Error{Code::kInvalid, "data is nested deeper than " + std::to_string(kMaxNesting)};
    dom::array inner = value.get_array().value_unsafe();
    levels.push_back({inner.begin(), inner.end()});
  }
  return {};
}

template <typename Put>
Status for_each_value(Elements elements, Put put) {
  for (const dom::element& element : elements)
    RIDGE_TRY(element.is_array() ? for_each_value_in(element.get_array().value_unsafe(), put) : put(element));
  return {};
}

template <typename T>
std::string range_text() {
  return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
         std::to_string(std::numeric_limits<T>::max());
}

// ok = `value` is exactly a T.
template <typename T>
bool read_value(const dom::element& value, T& result) {
  dom::element_type type = value.type();
  if constexpr (std::is_floating_point_v<T>) {
    if (type == dom::element_type::DOUBLE)
      result = static_cast<T>(value.get_double().value_unsafe());
    else if (type == dom::element_type::INT64)
      result = static_cast<T>(value.get_int64().value_unsafe());
    else if (type == dom::element_type::UINT64)
      result = static_cast<T>(value.get_uint64().value_unsafe());
    else
      return false;
    return std::isfinite(result);  // 1e300 does not fit FP32
  } else {
    if (type == dom::element_type::INT64) {
      int64_t number = value.get_int64().value_unsafe();
      result = static_cast<T>(number);
      return std::in_range<T>(number);
    }
    if (type != dom::element_type::UINT64) return false;
    uint64_t number = value.get_uint64().value_unsafe();
    result = static_cast<T>(number);
    return std::in_range<T>(number);
  }
}

template <typename T>
std::string expected_text() {
  if constexpr (std::is_same_v<T, float>)
    return "a number within the range of FP32";
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else
    return range_text<T>();
}

Error wrong_count(const Shape& shape, int64_t expected, const std::string& found) {
  return {Code::kInvalid,
          "shape " + shape_text(shape) + " needs " + std::to_string(expected) + " values, data has " + found};
}

// `read`: (const dom::element&, T&) → bool.
template <typename T, typename Read>
Result<PackedTensor> pack_fixed(Elements values, const Shape& shape, int64_t count, const std::string& expected,
                                Read read) {
  auto buffer = std::make_shared<Buffer>(static_cast<size_t>(count) * sizeof(T));
  std::byte* at = buffer->data();
  int64_t seen = 0;
  RIDGE_TRY(for_each_value(values, [&](const dom::element& value) -> Status {
    if (seen == count) return wrong_count(shape, count, "more");
    T number{};
    if (!read(value, number)) return wrong_value(seen, expected, value);
    std::memcpy(at, &number, sizeof number);
    at += sizeof number;
    ++seen;
    return {};
  }));
  if (seen != count) return wrong_count(shape, count, std::to_string(seen));
  return PackedTensor{buffer->span(), buffer};
}

template <typename T>
Result<PackedTensor> pack_numbers(Elements values, const Shape& shape, int64_t count) {
  return pack_fixed<T>(values, shape, count, expected_text<T>(),
                       [](const dom::element& value, T& number) { return read_value(value, number); });
}

Result<PackedTensor> pack_bools(Elements values, const Shape& shape, int64_t count) {
  return pack_fixed<uint8_t>(values, shape, count, "true or false", [](const dom::element& value, uint8_t& flag) {
    if (!value.is_bool()) return false;
    flag = value.get_bool().value_unsafe() ? 1 : 0;
    return true;
  });
}

// The bytes of {"b64": text}. nullopt = not such an object.
std::optional<std::string> read_base64(const dom::element& value) {
  std::string_view text;
  if (!is_base64(value) || value.at_key("b64").get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return base64_decoded(text);
}

Result<PackedTensor> pack_strings(Elements values, const Shape& shape, int64_t count, bool base64) {
  auto block = std::make_shared<std::vector<std::byte>>();
  int64_t seen = 0;
  RIDGE_TRY(for_each_value(values, [&](const dom::element& value) -> Status {
    if (seen == count) return wrong_count(shape, count, "more");
    std::optional<std::string> decoded;
    if (base64) decoded = read_base64(value);
    if (!decoded && !value.is_string())
      return wrong_value(seen, base64 ? R"(a string or {"b64": base64})" : "a string", value);
    std::string_view text = decoded ? std::string_view(*decoded) : value.get_string().value_unsafe();
    auto length = static_cast<uint32_t>(text.size());  // the body is shorter than 4 GiB: simdjson reads no more
    size_t at = block->size();
    block->resize(at + sizeof length + text.size());
    std::memcpy(block->data() + at, &length, sizeof length);
    if (!text.empty()) std::memcpy(block->data() + at + sizeof length, text.data(), text.size());
    ++seen;
    return {};
  }));
  if (seen != count) return wrong_count(shape, count, std::to_string(seen));
  return PackedTensor{*block, block};
}

Error no_json_form(DataType type) {
  return {Code::kInvalid, std::string(data_type_name(type)) + " has no JSON form; use the binary tensor extension"};
}

// simdjson counts no further than to 0xFFFFFF.
int64_t length_of(const dom::array& list) {
  const size_t counted = list.size();
  return counted < 0xFFFFFF ? static_cast<int64_t>(counted) : std::distance(list.begin(), list.end());
}

// Shape of lists in lists, if they are regular.
Shape shape_of(dom::element value) {
  Shape shape;
  while (value.is_array()) {
    const dom::array list = value.get_array().value_unsafe();
    shape.push_back(length_of(list));
    if (shape.back() == 0) break;
    value = *list.begin();
  }
  return shape;
}

// Recursion ends with the depth that the parser allows.
Status check_shape(const dom::element& value, std::span<const int64_t> shape) {
  if (value.is_array() != !shape.empty()) return invalid("some of its values are lists and others are not");
  if (shape.empty()) return {};
  const dom::array list = value.get_array().value_unsafe();
  if (length_of(list) != shape[0])
    return invalid("its lists differ in length: one has " + std::to_string(shape[0]) + " values, another " +
                   std::to_string(length_of(list)) + "; a tensor's have the same");
  for (dom::element inner : list) RIDGE_TRY(check_shape(inner, shape.subspan(1)));
  return {};
}

// ---- packed → text

template <typename T>
void append_value(std::string& text, T value) {
  if constexpr (std::is_floating_point_v<T>)
    append_json_number(text, value);
  else if constexpr (std::is_signed_v<T>)
    append_json_integer(text, int64_t{value});
  else
    append_json_integer(text, uint64_t{value});
}

// Separators of a flat list's values.
struct Commas {
  void before(std::string& text, size_t index) const {
    if (index > 0) text += ',';
  }
};

// Separators of nested lists' values.
class Brackets {
 public:
  explicit Brackets(std::span<const int64_t> shape) {
    size_t size = 1;
    for (size_t i = shape.size(); i > 1; --i) sizes_.push_back(size *= static_cast<size_t>(shape[i - 1]));
  }
  void before(std::string& text, size_t index) const {
    if (index == 0) return;
    size_t ended = 0;
    while (ended < sizes_.size() && index % sizes_[ended] == 0) ++ended;
    text.append(ended, ']').append(1, ',').append(ended, '[');
  }

 private:
  std::vector<size_t> sizes_;  // values in a list of each level, innermost first, without the outermost
};

template <typename T, typename Separator>
Status append_numbers(std::string& text, std::span<const std::byte> data, const Separator& separator) {
  size_t count = data.size() / sizeof(T);
  text.reserve(text.size() + count * (std::is_floating_point_v<T> ? 2 * sizeof(T) + 4 : sizeof(T) + 2) + 2);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value))
        return Error{Code::kInvalid, "element " + std::to_string(i) + (std::isnan(value) ? " is NaN" : " is infinite") +
                                         ", which JSON cannot express; ask for this output with binary_data (/v2)"};
    separator.before(text, i);
    append_value(text, value);
  }
  return {};
}

template <typename Separator>
Status append_bools(std::string& text, std::span<const std::byte> data, const Separator& separator) {
  for (size_t i = 0; i < data.size(); ++i) {
    separator.before(text, i);
    text += data[i] != std::byte{0} ? "true" : "false";
  }
  return {};
}

template <typename Separator>
Status append_strings(std::string& text, std::span<const std::byte> data, const Separator& separator, bool base64) {
  size_t at = 0;
  for (size_t i = 0; at < data.size(); ++i) {
    uint32_t length = 0;
    if (data.size() - at < sizeof length) return Error{Code::kFailed, "the model's BYTES block is cut off"};
    std::memcpy(&length, data.data() + at, sizeof length);
    at += sizeof length;
    if (data.size() - at < length) return Error{Code::kFailed, "the model's BYTES block is cut off"};
    std::string_view value(reinterpret_cast<const char*>(data.data() + at), length);
    at += length;
    if (base64) {
      separator.before(text, i);
      text.append(R"({"b64":")").append(base64_encoded(value)).append("\"}");
      continue;
    }
    if (!text::is_utf8(value))
      return Error{Code::kInvalid,
                   "element " + std::to_string(i) +
                       " is not UTF-8, which JSON cannot express; ask for this output with binary_data (/v2)"};
    separator.before(text, i);
    append_json_string(text, value);
  }
  return {};
}

template <typename Separator>
Status append_elements(std::string& text, DataType type, std::span<const std::byte> data, const Separator& separator,
                       bool base64) {
  if (type == DataType::kBool) return append_bools(text, data, separator);
  if (type == DataType::kBytes) return append_strings(text, data, separator, base64);
  return with_number_type(
      type, [&](auto zero) { return append_numbers<decltype(zero)>(text, data, separator); },
      [&]() -> Status { return no_json_form(type); });
}

// "[]" as often as the dimensions before the first 0 say.
void append_empty(std::string& text, std::span<const int64_t> shape) {
  text += '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) text += ',';
    append_empty(text, shape.subspan(1));
  }
  text += ']';
}

Result<PackedTensor> pack(Elements values, DataType type, const Shape& shape, size_t json_size, bool base64) {
  std::optional<int64_t> count = element_count(shape);
  if (!count) return Error{Code::kInvalid, "shape " + shape_text(shape) + " has too many elements"};
  // Every value takes at least two bytes of text: a claimed size never allocates.
  if (*count > static_cast<int64_t>(json_size)) return wrong_count(shape, *count, "fewer");
  if (type == DataType::kBool) return pack_bools(values, shape, *count);
  if (type == DataType::kBytes) return pack_strings(values, shape, *count, base64);
  return with_number_type(
      type, [&](auto zero) { return pack_numbers<decltype(zero)>(values, shape, *count); },
      [&]() -> Result<PackedTensor> { return no_json_form(type); });
}

}  // namespace

bool is_base64(const dom::element& value) {
  if (!value.is_object()) return false;
  dom::object object = value.get_object().value_unsafe();
  return object.size() == 1 && (*object.begin()).key == "b64";
}

Result<Shape> common_shape(Elements rows) {
  Shape shape = shape_of(rows[0]);
  for (const dom::element& row : rows) RIDGE_TRY(check_shape(row, shape));
  return shape;
}

Result<PackedTensor> pack_values(const dom::element& element, DataType type, const Shape& shape, size_t json_size) {
  if (!element.is_array()) return Error{Code::kInvalid, "'data' should be a list, found " + found_text(element)};
  return pack({&element, 1}, type, shape, json_size, false);
}

Result<PackedTensor> pack_rows(Elements rows, DataType type, const Shape& shape, size_t json_size) {
  return pack(rows, type, shape, json_size, true);
}

Status append_values(std::string& text, DataType type, std::span<const std::byte> data) {
  text += '[';
  RIDGE_TRY(append_elements(text, type, data, Commas(), false));
  text += ']';
  return {};
}

Status append_nested(std::string& text, DataType type, std::span<const int64_t> shape, std::span<const std::byte> data,
                     bool base64) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    append_empty(text, shape);
    return {};
  }
  text.append(shape.size(), '[');
  RIDGE_TRY(append_elements(text, type, data, Brackets(shape), base64));
  text.append(shape.size(), ']');
  return {};
}

}  // namespace ridge::front::http
