// A JSON schema as a document: what its references point to, and what words that name other schemas mean in terms of
// anyOf, so that a schema is several that all hold. Also validates values. Not for grammars: json_schema.cc. One
// thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_pattern.h"

namespace ridge::text {

class SchemaDocument {
 public:
  SchemaDocument(const Json& root, Patterns& patterns) : root_(root), patterns_(patterns) {}
  const Json& root() const { return root_; }

  // Resolves its $ref.
  Result<const Json*> referred(const Json& schema, const std::string& place);
  // References that are made here stand for a schema by itself; `no_null`: without its `nullable`.
  struct Link {
    const Json* schema;
    bool no_null;
  };
  const Link* link_of(const Json& schema) const;
  // The schema that a list of not_list() forbids; null: it is another list.
  const Json* forbidden_by(const Json* list) const {
    const auto found = forbidden_by_.find(list);
    return found == forbidden_by_.end() ? nullptr : found->second;
  }

  // `pattern` of schemas that are made here: what may not match, or texts that are not allowed; null: it is another.
  static const Json* forbidden_pattern(const Json& pattern);
  static const Json* forbidden_texts(const Json& pattern);

  // Lists of which one schema has to hold, instead of what `schema` has under a name; the same each time. kUnsupported:
  // `not` of what cannot be said otherwise.
  // They may leave out valid documents, never let in others.
  const Json* nullable_list(const Json& schema);
  Result<const Json*> not_list(const Json& schema, const std::string& place);
  const Json* if_list(const Json& schema);
  // The one schema of oneOf that holds, and not the others, but for those of which `apart` says that they never hold
  // together.
  Result<const Json*> one_of_list(const Json& schema, const std::string& place,
                                  const std::function<Result<bool>(const Json&, const Json&)>& apart);
  // dependencies, dependentRequired and dependentSchemas: a schema.
  Result<const Json*> dependencies(const Json& schema, const std::string& place);

  // Follows JSON Schema 2020-12 and 7; `format` is a note. `listed`: the value is of its own `enum`.
  Result<bool> holds(const Json& value, const Json& schema, const std::string& place, int depth = 0,
                     bool listed = false);

 private:
  Json link(const Json& schema, bool no_null = false);
  Json negated(const Json& schema);
  const Json* keep(const Json& schema, const char* what, Json made);
  const Json* known(const Json& schema, const char* what) const;
  Status add_negations(const Json& schema, const std::string& place, Json& list);
  Result<bool> holds_schemas(const Json& value, const Json& schema, const std::string& place, int depth);
  Result<bool> holds_items(const Json& value, const Json& schema, const std::string& place, int depth);
  Result<bool> holds_members(const Json& value, const Json& schema, const std::string& place, int depth);

  const Json& root_;
  Patterns& patterns_;
  std::unordered_map<std::string, const Json*> references_;
  std::vector<Link> links_;
  std::map<std::pair<const Json*, bool>, size_t> link_numbers_;
  std::map<std::pair<const Json*, std::string>, const Json*> lists_;
  std::deque<Json> made_;
  std::unordered_map<const Json*, const Json*> forbidden_by_;
  size_t work_ = 0;  // schemas that values were held against
};

}  // namespace ridge::text
