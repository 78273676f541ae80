#include "model/inlined_file.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "model/external_files.h"
#include "model/guarded.h"
#include "model/model_file.h"
#include "model/structure.h"

namespace ridge::model {

namespace fs = std::filesystem;

Result<std::optional<InlinedFile>> inlined_file(const std::string& path) {
  return guarded("expand the functions of " + path, [&]() -> Result<std::optional<InlinedFile>> {
    onnx::ModelProto model;
    RIDGE_TRY(load(path, model));
    if (model.functions_size() == 0) return std::optional<InlinedFile>();
    RIDGE_TRY(inline_functions(model));
    RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
    const fs::path source = fs::absolute(path).parent_path();
    for (const std::string& file : external_files(model)) {
      if (escapes(file)) return Error{Code::kInvalid, "its external data " + file + " lies outside of its folder"};
      const fs::path link = fs::path(folder.path()) / file;
      fs::create_directories(link.parent_path());
      fs::create_symlink(source / file, link);
    }
    std::string inlined = (fs::path(folder.path()) / "model.onnx").string();
    RIDGE_TRY(write_file_atomically(inlined, model.SerializeAsString()));
    return std::optional(InlinedFile{std::move(folder), std::move(inlined)});
  });
}

}  // namespace ridge::model
