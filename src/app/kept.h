// Documents that were kept: `-o FILE.json` of a verb, its --json in a file, or the tuning.json of a repository.
#pragma once

#include <string>

#include "app/about.h"
#include "base/json.h"
#include "base/result.h"

namespace ridge::app {

// Of a folder: its tuning.json. Errors: no JSON; no document of ridge, or of a version that wrote no `about`; another schema.
Result<Json> read_document(const std::string& given);
// Of a document as read.
About about_of(const Json& document);

}  // namespace ridge::app
