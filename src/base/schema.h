// The JSON Schema (draft 2020-12) of a value, from the list of its fields (base/fields.h), with their figures:
// `title`, `description`, `unit`, `better`, `columns`, `leaves`, `range_of`, `csv`. Tables, pages, CSV and contracts
// are made of schemas.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"

namespace ridge {

// Json as an out-argument, so that this header does without the library's.
void set_type(Json& schema, const char* type);
void add_name(Json& schema, std::string_view name);  // of an enumeration
Json& element_schema(Json& schema);                  // makes it one of an array
Json& named_schema(Json& schema);                    // makes it one of an object with members of any name
Json& field_schema(Json& object, std::string_view name, const Figure& figure, bool required);
void allow_null(Json& schema);
Json& either_reason(Json& schema);  // a value, whose schema is returned, or {"reason": …}

template <typename T>
concept DescribesItself = requires(const T& value, Json& json) { write_schema(json, value); };

template <typename T>
void describe_value(Json& schema, const T& value);

// A visitor that writes each field's schema as a property of an object's.
class SchemaWriter {
 public:
  explicit SchemaWriter(Json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, const T& value, const Figure& figure) {
    add(name, value, figure, true);
  }
  template <typename T>
  void operator()(const char* name, const T& value, Range = {}) {
    add(name, value, {}, true);
  }
  // Always written, as the others.
  template <typename T>
  void optional(const char* name, const T& value, const Figure& figure) {
    add(name, value, figure, true);
  }
  template <typename T>
  void optional(const char* name, const T& value, Range = {}) {
    add(name, value, {}, true);
  }
  template <typename T>
  void unless_empty(const char* name, const T& value, const Figure& figure = {}) {
    add(name, value, figure, false);
  }
  template <typename T>
  void or_null(const char* name, const T& value, const Figure& figure = {}) {
    allow_null(add(name, value, figure, true));
  }
  template <typename T>
  void derived(const char* name, const T& value) {
    if constexpr (requires { value.figure; })
      add(name, value.value, value.figure, true);
    else if constexpr (std::invocable<const T&>)
      add(name, std::remove_cvref_t<std::invoke_result_t<const T&>>(), {}, true);
    else
      add(name, value, {}, true);
  }
  template <typename List>
  void object(const char* name, const List& list) {
    Json& schema = field_schema(object_, name, {}, required_);
    set_type(schema, "object");
    SchemaWriter inner(schema);
    list(inner);
  }
  // Of what the list has, none need be there.
  template <typename List>
  void when(bool, const List& list) {
    SchemaWriter inner(object_, false);
    list(inner);
  }

 private:
  SchemaWriter(Json& object, bool required) : object_(object), required_(required) {}

  template <typename T>
  Json& add(const char* name, const T& value, const Figure& figure, bool required) {
    Json& schema = field_schema(object_, name, figure, required && required_);
    describe_value(schema, value);
    if (figure.null_) allow_null(schema);
    return schema;
  }

  Json& object_;
  bool required_ = true;
};

// Describes what write_value() of base/fields.h writes. A value with to_json() and no write_schema() may be anything.
template <typename T>
void describe_value(Json& schema, const T& value) {
  if constexpr (std::same_as<T, Json>) {  // NOLINT(bugprone-branch-clone): the order of the concepts
  } else if constexpr (HasNames<T>) {
    set_type(schema, "string");
    for (const auto& [key, name] : names_of(value)) add_name(schema, name);
  } else if constexpr (std::same_as<T, bool>) {
    set_type(schema, "boolean");
  } else if constexpr (std::floating_point<T>) {
    set_type(schema, "number");
  } else if constexpr (std::integral<T>) {
    set_type(schema, "integer");
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    set_type(schema, "string");
  } else if constexpr (Optional<T>) {
    describe_value(schema, std::remove_cvref_t<decltype(*value)>());
    allow_null(schema);
  } else if constexpr (HasFields<T>) {
    set_type(schema, "object");
    SchemaWriter visit(schema);
    visit_fields(visit, value);
  } else if constexpr (DescribesItself<T>) {
    write_schema(schema, value);
  } else if constexpr (requires { value.value.has_value(), value.reason; }) {  // gpu::Reading
    describe_value(either_reason(schema), std::remove_cvref_t<decltype(*value.value)>());
  } else if constexpr (WritesItself<T>) {
  } else if constexpr (Map<T>) {
    describe_value(named_schema(schema), typename T::value_type::second_type());
  } else {
    describe_value(element_schema(schema), typename std::remove_cvref_t<T>::value_type());
  }
}

// As Document, which is Json, so that the type need not be complete here.
template <typename T, typename Document = Json>
Document schema_of(const T& value = {}) {
  Document schema;
  describe_value(schema, value);
  return schema;
}

// "ms" of "queue_ms", "/s" of "rate_per_s", "%" of "ci95_percent", "B" of "weight_bytes"; "ms" of "ms"; "" of others.
std::string_view unit_of(std::string_view name);

// A column of a table of values: a figure that has `columns` in the schema of one. `label` is joined with the label
// of the value that it is a part of: "first token p99".
struct Column {
  std::string member;  // JSON pointer: "/tokens/ttft_ms/p99"
  std::string id;      // "tokens-ttft-p99"
  std::string label, unit;
  Better better = Better::kNeither;  // of the value, else of the one that it is a part of
  int leaves = 0;                    // as of Figure, likewise
  std::string range_of;              // member of the figure before it; empty: is no range
};
void visit_fields(auto& visit, Is<Column> auto& column) {
  visit("member", column.member);
  visit("label", column.label);
  visit("unit", column.unit);
  visit.unless_empty("range_of", column.range_of);
}
std::vector<Column> columns_of(const Json& schema);  // remarks last
// The columns of CSV, for csv_table() (base/csv.h): "throughput_per_s p50_ms=/latency_ms/p50 …".
std::string csv_columns_of(const Json& schema);

}  // namespace ridge
