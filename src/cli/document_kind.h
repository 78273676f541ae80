// The kinds of document of a program, whose JSON Schemas follow from the lists of their values' fields: of ridge
// (cli/document_schemas.h), and of ridge-lab.
#pragma once

#include <span>
#include <string_view>

#include "app/about.h"
#include "base/json.h"
#include "base/result.h"
#include "base/schema.h"

namespace ridge::cli {

struct OnlyAbout {
  app::About about;
};
void visit_fields(auto& visit, Is<OnlyAbout> auto& document) {
  visit("about", document.about, means("what wrote the document, when, where and by which command"));
}

struct DocumentKind {
  std::string_view name;           // the verb, as in `about.verb`, with "-" for a space: "bench-server"
  void (*describe)(Json& schema);  // nullptr: another program does
};
// Describes a document with the members of all these values.
template <typename... Values>
void fields_of(Json& schema) {
  (describe_value(schema, Values()), ...);
}

Json schema_of_kind(const DocumentKind& kind);
// The error lists the kinds.
Result<Json> schema_of_kind(std::span<const DocumentKind> kinds, std::string_view name);

}  // namespace ridge::cli
