#include "app/kept.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace ridge::app {

Result<Json> read_document(const std::string& given) {
  const std::string file = std::filesystem::is_directory(given) ? given + "/tuning.json" : given;
  RIDGE_ASSIGN(const std::string text, read_file(file));
  const Result<Json> json = parse_json(text, file);
  if (!json)
    return invalid(file + " is not a ridge document, which is JSON; if it is a model, ridge " + file +
                   " says what it is");
  if (!json->is_object() || !json->contains("about"))
    return Error{Code::kInvalid,
                 file +
                     " is not a ridge document: it has no `about` member; documents are written by -o or "
                     "--json, and in tuning.json, since version 0.1.0"};
  const Result<About> about = from_json<About>(json->at("about"));
  if (!about) return wrap(about.error(), file + ": about");
  if (about->schema != kSchema)
    return Error{Code::kInvalid, fmt::format("{} has schema {}, and ridge {} reads {}: use ridge {}, which wrote it",
                                             file, about->schema, RIDGE_VERSION, kSchema, about->version)};
  return *json;
}

About about_of(const Json& document) {
  Result<About> about = from_json<About>(document.at("about"));
  return about ? *about : About{};
}

}  // namespace ridge::app
