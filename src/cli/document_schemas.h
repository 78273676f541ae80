// The JSON Schemas of documents, from the lists of their values' fields: of `ridge show --schema KIND`, and of tables,
// pages and CSV (base/schema.h).
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ridge::cli {

// `kind`: the verb, as in `about.verb`, with "-" for a space: "bench-server". Those of the lab are asked of ridge-lab.
// Errors: there is no such kind (kInvalid), with a list; ridge-lab is not there.
Result<Json> document_schema(std::string_view kind);
// Of an element of the document's list `member`: "points".
Json element_of(std::string_view kind, const char* member);
// {"points": [{member, label, unit}]}, of each list of the document that has columns: by the schema of its verb's whose
// required members it has. Empty: there is none.
Json list_columns(const Json& document);

}  // namespace ridge::cli
