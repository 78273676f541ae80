#include "llm/cpu/kept_steps.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/log.h"

namespace ridge::llm::cpu {

std::string steps_file(const std::string& machine_id, const StepsOf& of) {
  const std::string folder = cache_folder("steps");
  if (folder.empty()) return {};
  return fmt::format("{}/{}/{}-{}-{}-{}-{}.json", folder, machine_id, of.config_digest, of.engine,
                     name_of(names_of(of.weights), of.weights), name_of(names_of(of.cache), of.cache), of.threads);
}

Status keep_steps(const KeptSteps& kept, const std::string& file) {
  if (file.empty()) return {};
  std::error_code failure;  // what cannot be made cannot be written
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failure);
  return write_file_atomically(file, dump_json(json_of(kept), true) + "\n");
}

std::optional<KeptSteps> recall_steps(const std::string& file) {
  const std::string text = file.empty() ? std::string() : text_or_empty(file);
  if (text.empty()) return {};
  const Result<Json> json = parse_json(text, file);
  Result<KeptSteps> kept = json ? from_json<KeptSteps>(*json) : json.error();
  if (kept && kept->line.known()) return std::move(*kept);
  log::warning("the step line in {} is damaged ({}); ridge bench FOLDER measures it again", file,
               kept ? "it has no time per token" : kept.error().message);
  return {};
}

}  // namespace ridge::llm::cpu
