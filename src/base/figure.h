// What is said of a field beside its name and value. Tables, pages, CSV and contracts follow (base/schema.h), so
// that a figure is written once, in the list of its value's fields (base/fields.h):
//
//   visit("queue_ms", server.queue_ms, means("mean wait of a request").column("queue").low_is_better());
//   visit.derived("failed", Derived{failed(point), means("counted requests that failed").column("failed").csv()});
#pragma once

#include "base/fields.h"

namespace ridge {

enum class Better { kNeither, kLow, kHigh };

// Filled by the functions below: designated initialisers would take a line for each member.
struct Figure {
  const char* meaning_ = "";  // one line
  const char* label_ = "";    // heading of its column, which pages translate
  const char* unit_ = "";     // "ms", "/s", "%", "B"; empty: by the end of the name (unit_of() in base/schema.h)
  Better better_ = Better::kNeither;
  // Null: no column of tables. "": one. "*": parts that are columns. "p50 p99": these parts.
  const char* columns_ = nullptr;
  int leaves_ = 0;             // as of leaves(); kBelow: as of remark()
  const char* range_of_ = "";  // as of range_of()
  const char* csv_ = nullptr;  // null: no column of CSV; else its word in their names, before the unit
  bool null_ = false;
  Range range_ = {};
  operator Range() const { return range_; }  // NOLINT: what base/fields.h takes

  // Is a column of a table of such values; an interval is one too.
  constexpr Figure column(const char* label) const { return part_columns("", label); }
  // Some parts of a value with fields are columns: "p50 p99". In the label "{}" is the part's; else it comes first.
  constexpr Figure part_columns(const char* parts, const char* label = "") const {
    Figure figure = *this;
    figure.label_ = label;
    figure.columns_ = parts;
    return figure;
  }
  // An interval that another figure of the list lies in, which has this JSON pointer: a column behind it, in pages a
  // line below it.
  constexpr Figure range_of(const char* member) const {
    Figure figure = column("range");
    figure.range_of_ = member;
    return figure;
  }
  // The turn in which the column leaves a table of the terminal that is too wide: 1 first. Others never leave.
  constexpr Figure leaves(int turn) const {
    Figure figure = *this;
    figure.leaves_ = turn;
    return figure;
  }
  // A text that stands below its row where the line is too narrow.
  static constexpr int kBelow = -1;
  constexpr Figure remark() const { return leaves(kBelow); }
  // Those parts are columns that say so.
  constexpr Figure groups_columns() const { return part_columns("*"); }
  // Is a column of CSV by its own name. Of a value with fields, the parts that say so are, else all, after this word.
  constexpr Figure csv(const char* word = "") const {
    Figure figure = *this;
    figure.csv_ = word;
    return figure;
  }
  constexpr Figure in(const char* unit) const {
    Figure figure = *this;
    figure.unit_ = unit;
    return figure;
  }
  constexpr Figure low_is_better() const { return better(Better::kLow); }
  constexpr Figure high_is_better() const { return better(Better::kHigh); }
  constexpr Figure within(Range range) const {
    Figure figure = *this;
    figure.range_ = range;
    return figure;
  }
  // A number that may be not known.
  constexpr Figure or_null() const {
    Figure figure = *this;
    figure.null_ = true;
    return figure;
  }

 private:
  constexpr Figure better(Better which) const {
    Figure figure = *this;
    figure.better_ = which;
    return figure;
  }
};
constexpr Figure means(const char* meaning) { return {meaning}; }

// A derived value with its figure.
template <typename T>
struct Derived {
  T value;
  Figure figure;
  const T& operator()() const { return value; }
};
template <typename T>
Derived(T, Figure) -> Derived<T>;

}  // namespace ridge
