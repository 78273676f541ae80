// A value's fields, listed once: writing it as JSON and reading it back both follow from the list.
//
// The list is a function beside the struct, found by its argument:
//
//   void visit_fields(auto& visit, Is<Latency> auto& latency) {
//     visit("mean", latency.mean);
//     visit.optional("p50", latency.p50);
//   }
//
// A member is a boolean, a number, a string, an enumeration with names (base/name_table.h), std::optional (null or
// absent), a value with fields, and vectors and maps by name of these. A vector of pairs (name, value) is written as an
// object in its order. Another type has `Json to_json(const T&)` and,
// if it is read back, `Status read_json(const Json&, T&)`. Members are written in the order of the list; those that the
// list does not have are passed over when reading. Errors name the member's path: "member 'layers[3].ms' should be a
// number, found "x"". Request bodies are read by simdjson in front/.
#pragma once

#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "base/name_table.h"

namespace ridge {

// For lists that serve writing and reading: `T` or `const T`.
template <typename Given, typename T>
concept Is = std::same_as<std::remove_const_t<Given>, T>;

// Bounds of a number when it is read; they hold for each element of a vector.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  bool open = false;  // `least` itself is not in it
};
constexpr Range at_least(double least) { return {least, false}; }
constexpr Range above(double bound) { return {bound, true}; }

// A position in a document being read: remembers its path for errors. The first error stays in the status; nothing is
// read after it.
class JsonCursor {
 public:
  JsonCursor(const Json& json, Status& status) : json_(&json), status_(&status) {}

  const Json& json() const { return *json_; }
  bool ok() const { return status_->ok(); }
  // `what` as "is missing" or "should be …".
  void fail(const std::string& what) const;
  void fail(const Error& error) const;  // of a reader that knows no path

  // The member of an object; null if it is missing or null. An error if this is not an object.
  std::optional<JsonCursor> member(std::string_view name) const;
  JsonCursor absent(std::string_view name) const;  // where it would be: an empty object
  void each_element(const std::function<void(JsonCursor)>& read) const;
  void each_member(const std::function<void(const std::string&, JsonCursor)>& read) const;

  void read(bool& value) const;
  void read(double& value, Range range) const;
  void read(int64_t& value, Range range) const;
  void read(std::string& value) const;

 private:
  JsonCursor(const Json& json, const JsonCursor& parent, std::string_view name, size_t index)
      : json_(&json), status_(parent.status_), parent_(&parent), name_(name), index_(index) {}
  std::string path() const;
  void mistyped(std::string_view expected) const;

  const Json* json_;
  Status* status_;
  const JsonCursor* parent_ = nullptr;
  std::string_view name_;  // of the member; empty: an element of an array
  size_t index_ = 0;
};

// Json as an out-argument, so that this header does without the library's.
Json& make_object(Json& json);
Json& make_array(Json& json);
Json& add_member(Json& object, std::string_view name);
Json& add_element(Json& array);
void set_json(Json& json, bool value);
void set_json(Json& json, int64_t value);
void set_json(Json& json, uint64_t value);
void set_json(Json& json, double value);
void set_json(Json& json, std::string_view value);

class FieldWriter;
class FieldReader;

template <typename T>
concept HasFields = requires(FieldWriter& visit, const T& value) { visit_fields(visit, value); };
template <typename T>
concept HasNames = std::is_enum_v<T> && requires(T key) { names_of(key); };
template <typename T>
concept WritesItself = requires(const T& value) { to_json(value); };
template <typename T>
concept ReadsItself = requires(const Json& json, T& value) { read_json(json, value); };
// Value of a missing member, if that is not an error.
template <typename T>
concept MayBeAbsent = requires(T& value) { set_absent(value); };
template <typename T>
concept Map = requires { typename T::value_type::second_type; };
template <typename T>
concept Optional = requires(const T& value) { value.has_value(); };

// Nothing in it: "", no elements, no value; of a number or a name: the first, 0.
template <typename T>
bool is_empty(const T& value) {
  if constexpr (requires { value.empty(); })
    return value.empty();
  else if constexpr (requires { value.has_value(); })
    return !value.has_value();
  else
    return value == T{};
}

template <typename T>
void write_value(Json& json, const T& value);

// Writes a value's fields as members of an object.
class FieldWriter {
 public:
  explicit FieldWriter(Json& object) : object_(make_object(object)) {}

  template <typename T>
  void operator()(const char* name, const T& value, Range = {}) {
    write_value(add_member(object_, name), value);
  }
  // May be missing when read, and then keeps its default.
  template <typename T>
  void optional(const char* name, const T& value, Range range = {}) {
    (*this)(name, value, range);
  }
  // Left out where it is empty.
  template <typename T>
  void unless_empty(const char* name, const T& value, Range range = {}) {
    if (!is_empty(value)) (*this)(name, value, range);
  }
  // null where it is empty.
  template <typename T>
  void or_null(const char* name, const T& value, Range range = {}) {
    is_empty(value) ? void(add_member(object_, name)) : (*this)(name, value, range);
  }
  // Derived from other members: not read back. `value` may be a function, which is then called only to write.
  template <typename T>
  void derived(const char* name, const T& value) {
    if constexpr (std::invocable<const T&>)
      (*this)(name, value());
    else
      (*this)(name, value);
  }
  // Members of the value that the JSON has in an object of their own: `list` gets a visitor.
  template <typename List>
  void object(const char* name, const List& list) {
    FieldWriter inner(add_member(object_, name));
    list(inner);
  }
  // Members that are there where `holds`, which other members decide: `list` gets a visitor.
  template <typename List>
  void when(bool holds, const List& list) {
    if (holds) list(*this);
  }

 private:
  Json& object_;
};

template <typename T>
void write_value(Json& json, const T& value) {
  if constexpr (std::same_as<T, Json>) {
    json = value;
  } else if constexpr (HasNames<T>) {
    set_json(json, ridge::name_of(names_of(value), value));
  } else if constexpr (std::same_as<T, bool> || std::floating_point<T>) {
    set_json(json, value);
  } else if constexpr (std::integral<T>) {
    set_json(json, static_cast<std::conditional_t<std::unsigned_integral<T>, uint64_t, int64_t>>(value));
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    set_json(json, std::string_view(value));
  } else if constexpr (Optional<T>) {
    if (value.has_value()) write_value(json, *value);
  } else if constexpr (HasFields<T>) {
    FieldWriter visit(json);
    visit_fields(visit, value);
  } else if constexpr (WritesItself<T>) {
    json = to_json(value);
  } else if constexpr (Map<T>) {
    make_object(json);
    for (const auto& [name, element] : value) write_value(add_member(json, name), element);
  } else {
    make_array(json);
    for (const auto& element : value) write_value(add_element(json), element);
  }
}

template <typename T>
void read_value(const JsonCursor& at, T& value, Range range = {});

// Reads members of an object into a value's fields. As FieldWriter.
class FieldReader {
 public:
  explicit FieldReader(JsonCursor at) : at_(at) {}

  template <typename T>
  void operator()(const char* name, T& value, Range range = {}) {
    std::optional<JsonCursor> member = at_.member(name);
    if (member)
      read_value(*member, value, range);
    else if constexpr (MayBeAbsent<T>)
      set_absent(value);
    else if constexpr (!Optional<T>)
      at_.absent(name).fail("is missing");
  }
  template <typename T>
  void optional(const char* name, T& value, Range range = {}) {
    if (std::optional<JsonCursor> member = at_.member(name)) read_value(*member, value, range);
  }
  template <typename T>
  void unless_empty(const char* name, T& value, Range range = {}) {
    optional(name, value, range);
  }
  template <typename T>
  void or_null(const char* name, T& value, Range range = {}) {
    optional(name, value, range);
  }
  template <typename T>
  void derived(const char*, const T&) {}
  // An absent object is as one without members.
  template <typename List>
  void object(const char* name, const List& list) {
    const std::optional<JsonCursor> member = at_.member(name);
    FieldReader inner(member ? *member : at_.absent(name));
    list(inner);
  }
  template <typename List>
  void when(bool holds, const List& list) {
    if (holds) list(*this);
  }

 private:
  JsonCursor at_;
};

template <typename T>
void read_value(const JsonCursor& at, T& value, Range range) {
  if (!at.ok()) return;
  if constexpr (HasNames<T>) {
    std::string name;
    at.read(name);
    if (!at.ok()) return;
    Result<T> key = from_name<T>(names_of(value), name, "name");
    key ? void(value = *key) : at.fail(key.error());
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    at.read(value);
  } else if constexpr (std::same_as<T, int64_t> || std::same_as<T, double>) {
    at.read(value, range);
  } else if constexpr (std::integral<T>) {
    int64_t wide = 0;
    at.read(wide, range);
    if (at.ok() && !std::in_range<T>(wide)) return at.fail("is out of range: " + std::to_string(wide));
    value = static_cast<T>(wide);
  } else if constexpr (Optional<T>) {
    read_value(at, value.emplace(), range);
  } else if constexpr (HasFields<T>) {
    FieldReader visit(at);
    visit_fields(visit, value);
  } else if constexpr (ReadsItself<T>) {
    if (Status status = read_json(at.json(), value); !status) at.fail(status.error());
  } else if constexpr (Map<T>) {
    value.clear();
    at.each_member([&](const std::string& name, JsonCursor member) { read_value(member, value[name], range); });
  } else {
    value.clear();
    at.each_element([&](JsonCursor element) { read_value(element, value.emplace_back(), range); });
  }
}

// Document is Json; as a parameter, so that the type need not be complete here.
template <typename T, typename Document = Json>
Document json_of(const T& value) {
  Document json;
  if constexpr (
      HasFields<T>) {  // not by write_value: another file, without the list, makes it call to_json, which calls this
    FieldWriter visit(json);
    visit_fields(visit, value);
  } else {
    write_value(json, value);
  }
  return json;
}

template <typename T>
Result<T> from_json(const Json& json) {
  T value;
  Status status;
  read_value(JsonCursor(json, status), value);
  if (!status) return std::move(status).error();
  return value;
}

// Members that no struct lists: `list` gets a FieldReader.
template <typename List>
Status read_fields(const Json& json, const List& list) {
  Status status;
  FieldReader visit(JsonCursor(json, status));
  list(visit);
  return status;
}

}  // namespace ridge
