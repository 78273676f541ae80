// Documents that were kept: `-o FILE.json` of a verb, its --json in a file, or the tuning.json of a repository.
#pragma once

#include <string>

#include "app/about.h"
#include "base/json.h"
#include "base/result.h"

namespace ridge::app {

// A folder means its tuning.json. Errors: not JSON; not a ridge document, or one without `about`; another schema.
Result<Json> read_document(const std::string& given);
// Takes a document as read_document() returns it.
About about_of(const Json& document);

}  // namespace ridge::app
