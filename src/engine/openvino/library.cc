#include "engine/openvino/library.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/file.h"
#include "engine/loaded_libraries.h"
#include "model/inlined_file.h"

namespace ridge::engine::openvino {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPluginFile = "libridge_openvino.so";

LibraryQuery sought(const std::string& suffix) {
  return {"libopenvino.so." + suffix,
          "openvino/libs",
          "openvino",
          "RIDGE_OPENVINO",
          {"libs", "openvino/libs", "lib", "runtime/lib/intel64"}};
}

// Plugins by the number of their OpenVINO version, the newest first.
std::map<std::string, std::string, std::greater<>> plugins() {
  std::map<std::string, std::string, std::greater<>> found;
  for (const std::string& folder : own_library_folders())
    for (const std::string& file : gpu::libraries_in(folder, kPluginFile)) {
      std::string suffix = fs::path(file).extension().string();
      if (suffix.size() > 1 && suffix != ".so") found.emplace(suffix.substr(1), file);
    }
  return found;
}

// The library first: the plugin requests it by name, and finds the loaded one.
Result<Library> open_plugin(const std::string& path, const std::string& plugin_path) {
  RIDGE_ASSIGN(DynamicLibrary file, DynamicLibrary::open(path));
  RIDGE_ASSIGN(const Plugin* plugin, open_own_library<Plugin>(plugin_path, kPluginEntry));
  file.leak();
  return Library{path, plugin->version(), plugin};
}

Error no_plugin() {
  return {Code::kNotFound,
          fmt::format("ridge's plugin for OpenVINO was not found: no {}.* in {}. "
                      "It is built if OpenVINO's wheel is present at build time (./dev setup installs it).",
                      kPluginFile, fmt::join(own_library_folders(), ", "))};
}

}  // namespace

std::string release_of(const std::string& suffix) {
  if (suffix.size() < 4) return suffix;
  return "20" + suffix.substr(0, 2) + "." + suffix.substr(2, suffix.size() - 3) + "." + suffix.back();
}

Result<const Library*> load(const std::string& wanted) {
  const auto available = plugins();
  if (available.empty()) return no_plugin();
  std::string tried;
  for (const auto& [suffix, plugin] : available) {
    auto open = [&plugin = plugin](const std::string& file) { return open_plugin(file, plugin); };
    if (const Library* library = LoadedLibraries<Library>::table().find(sought(suffix), wanted, open, tried))
      return library;
  }
  const std::string& newest = available.begin()->first;
  return Error{Code::kNotFound, "OpenVINO's library libopenvino.so." + newest + " was not found. Tried:" + tried +
                                    "\nInstall it (pip install openvino==" + release_of(newest) +
                                    "), or name it by --engine-library or the environment variable RIDGE_OPENVINO."};
}

Result<Info> find_library(const plan::Plan& plan) {
  RIDGE_ASSIGN(const Library* library, load(plan.engine_library));
  return Info{"openvino", library->version, library->path, "cpu", Nanoseconds(0), 0};
}

Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan) {
  RIDGE_ASSIGN(const Library* library, load(plan.engine_library));
  Result<std::unique_ptr<Session>> session = library->plugin->open(plan, library->path);
  if (session || session.error().code != Code::kInvalid || !plan.model.ends_with(".onnx")) return session;
  RIDGE_ASSIGN(std::optional<model::InlinedFile> inlined, model::inlined_file(plan.model));
  if (!inlined) return session;
  plan::Plan other = plan;
  other.model = inlined->path;
  session = library->plugin->open(other, library->path);
  if (!session) return wrap(session.error(), plan.model + " with its functions expanded");
  (*session)->keep(std::make_shared<model::InlinedFile>(std::move(*inlined)));
  return session;
}

Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan) {
  RIDGE_ASSIGN(const Library* library, load(plan.library));
  return library->plugin->open_decoder(plan, library->path);
}

Result<model::UnboundModel> read_model(const std::string& path, const std::string& wanted) {
  RIDGE_TRY(open_regular_file(path));
  Result<const Library*> library = load(wanted);
  if (!library) return wrap(library.error(), "read model " + path + ", which is OpenVINO's own format");
  Result<std::shared_ptr<const model::IrSource>> source = (*library)->plugin->open_ir(path);
  if (source) return model::UnboundModel::from_ir(path, std::move(*source));
  const std::string weights = fs::path(path).replace_extension(".bin").string();
  if (std::error_code error; fs::exists(weights, error)) return wrap(source.error(), "read model " + path);
  return Error{Code::kNotFound, fmt::format("read model {}: its weights {} are missing; put them beside the model: {}",
                                            path, weights, source.error().message)};
}

}  // namespace ridge::engine::openvino
