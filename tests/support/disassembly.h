// Machine code for GPUs, read by NVIDIA's disassembler, which ./dev setup installs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/child_process.h"
#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::fake {

// The instructions of a CUBIN, one per line.
inline std::string disassembled(const std::string& machine_code) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  const std::string file = folder->path() + "/kernel.cubin";
  EXPECT_TRUE(write_file_atomically(file, machine_code));
  Result<std::string> text =
      output_of_program({.arguments = {std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc/nvdisasm", file}},
                        {.time = std::chrono::minutes(1)});
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : "";
}

inline int64_t count_of(const std::string& text, const std::string& word) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace ridge::fake
