#include "checkpoint/weights.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/fields.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/safetensors.h"

namespace ridge::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kUsualFile = "model.safetensors";

// A name of the index, which must stay in the folder.
bool plain_file(const std::string& name) { return fs::path(name).filename() == name && name != ".." && name != "."; }

// File by tensor.
Result<std::map<std::string, std::string>> index_of(const std::string& path) {
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(const Json json, parse_json(text, path));
  std::map<std::string, std::string> files;
  Status read = read_fields(json, [&](auto& visit) { visit("weight_map", files); });
  if (!read) return wrap(std::move(read).error(), path);
  for (const auto& [tensor, file] : files)
    if (!plain_file(file))
      return invalid(path + ": '" + file + "': expected a file name in this folder, without a path");
  return files;
}

Result<std::string> only_file(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder + "/" + kUsualFile, error)) return std::string(kUsualFile);
  std::vector<std::string> found;
  std::string others, whole;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    const std::string extension = file.path().extension().string();
    if (extension == ".safetensors") found.push_back(file.path().filename().string());
    if (extension == ".bin" || extension == ".pth") others += " " + file.path().filename().string();
    if (is_gguf(file.path().string())) whole = file.path().string();
  }
  if (found.size() == 1) return found.front();
  if (!found.empty())
    return invalid(
        fmt::format("{} has {} *.safetensors and no {} that says what is in which", folder, found.size(), kIndex));
  if (!whole.empty())
    return Error{Code::kNotFound, folder + " has no safetensors; " + whole + " is a model of its own: name that file"};
  return Error{
      Code::kNotFound,
      folder + " has no weights: neither " + kIndex + " nor " + kUsualFile + " nor another *.safetensors" +
          (others.empty() ? "" : "; it has" + others + ", which ridge does not read: save the model as safetensors")};
}

}  // namespace

bool is_gguf(std::string_view path) { return path.ends_with(".gguf"); }

Status Weights::add_gguf(const std::string& path) {
  RIDGE_ASSIGN(MappedFile mapped, MappedFile::open(path));
  const auto read = [&]() -> Result<NamedWeights> {
    RIDGE_ASSIGN(const Gguf file, read_gguf(mapped.bytes()));
    RIDGE_ASSIGN(const Json json, gguf_config(file));
    RIDGE_ASSIGN(const DecoderConfig config, decoder_config_of(json, nullptr));
    return gguf_weights(file, config);
  };
  Result<NamedWeights> weights = read();
  if (!weights) return wrap(std::move(weights).error(), path);
  weights_ = std::move(*weights);
  files_.push_back(std::move(mapped));
  return {};
}

Status Weights::add_folder(const std::string& folder) {
  std::set<std::string> files;
  std::map<std::string, std::string> index;
  std::error_code error;
  if (fs::exists(folder + "/" + kIndex, error)) {
    RIDGE_ASSIGN(index, index_of(folder + "/" + kIndex));
    for (const auto& [tensor, file] : index) files.insert(file);
  } else {
    RIDGE_ASSIGN(std::string file, only_file(folder));
    files.insert(std::move(file));
  }
  for (const std::string& file : files) {
    const std::string path = (fs::path(folder) / file).string();
    RIDGE_ASSIGN(MappedFile mapped, MappedFile::open(path));
    Result<Tensors> tensors = read_safetensors(mapped.bytes());
    if (!tensors) return wrap(std::move(tensors).error(), path);
    for (const auto& [name, tensor] : *tensors)
      if (!weights_.emplace(name, Weight{stored_type(tensor.type), tensor.shape, tensor.data}).second)
        return invalid(path + ": tensor '" + name + "' is in another file of the folder too");
    files_.push_back(std::move(mapped));
  }
  for (const auto& [tensor, file] : index)
    if (!weights_.contains(tensor))
      return invalid(fmt::format("{}/{}: no tensor '{}', which the index places there", folder, file, tensor));
  return {};
}

Result<Weights> Weights::open(const std::string& path) {
  Weights weights;
  weights.path_ = path;
  RIDGE_TRY(is_gguf(path) ? weights.add_gguf(path) : weights.add_folder(path));
  return weights;
}

Result<Weight> Weights::find(std::string_view name, const Shape& shape) const {
  const auto found = weights_.find(name);
  if (found == weights_.end()) return Error{Code::kNotFound, fmt::format("{} has no tensor '{}'", path_, name)};
  const Weight& weight = found->second;
  if (weight.shape != shape)
    return invalid(fmt::format("{}: tensor '{}' is {}, by the model's dimensions it should be {}", path_, name,
                               shape_text(weight.shape), shape_text(shape)));
  if (weight.type == nullptr)
    return Error{Code::kUnsupported, fmt::format("{}: tensor '{}' holds no floating-point numbers; weights are {}",
                                                 path_, name, decoded_types())};
  return weight;
}

}  // namespace ridge::checkpoint
