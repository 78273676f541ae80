// Fuzz target: reading OpenVINO's IR from any bytes ends in a Graph or an Error. All weights are zeros of a file of 1 MiB.
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/temporary_folder.h"
#include "model/reader.h"

namespace {

const ridge::TemporaryFolder& folder_with_weights() {
  static const ridge::TemporaryFolder folder = [] {
    ridge::Result<ridge::TemporaryFolder> made = ridge::TemporaryFolder::make();
    if (!made) std::abort();
    std::ofstream(made->path() + "/model.bin", std::ios::binary) << std::string(1 << 20, '\0');
    return std::move(*made);
  }();
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ridge::log::set_level(ridge::log::Level::kOff);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("<net")) text.insert(0, "<?xml version=\"1.0\"?>");
  const ridge::Result<ridge::model::UnboundModel> model =
      ridge::model::UnboundModel::read_bytes(text, folder_with_weights().path());
  if (!model) return 0;
  ridge::model::Binding binding;
  binding.batch = 2;
  binding.insist_on_batch = false;
  (void)model->bind(binding);
  return 0;
}
