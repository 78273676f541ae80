#include "cli/document_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ridge::cli {

Json schema_of_kind(const DocumentKind& kind) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", fmt::format("a document of ridge: {}", kind.name)}};
  kind.describe(schema);
  return schema;
}

Result<Json> schema_of_kind(std::span<const DocumentKind> kinds, std::string_view name) {
  const auto kind = std::ranges::find(kinds, name, &DocumentKind::name);
  if (kind != kinds.end()) return schema_of_kind(*kind);
  std::string known;
  for (const DocumentKind& each : kinds) known += (known.empty() ? "" : ", ") + std::string(each.name);
  return invalid(fmt::format("there is no schema of '{}'; there are: {}", name, known));
}

}  // namespace ridge::cli
