#include "app/decoder_model.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "checkpoint/test_gguf.h"

namespace ridge::app {
namespace {

std::string gguf_of_width(int64_t width) {
  return checkpoint::TestGguf()
      .text("general.architecture", "qwen2")
      .number("qwen2.context_length", 64)
      .number("qwen2.embedding_length", width)
      .number("qwen2.block_count", 1)
      .number("qwen2.feed_forward_length", 32)
      .number("qwen2.attention.head_count", 4)
      .real("qwen2.attention.layer_norm_rms_epsilon", 1e-5F)
      .tensor("token_embd.weight", {16, width}, 0, std::string(static_cast<size_t>(16 * width * 4), ' '))
      .bytes();
}

TEST(DecoderModel, DigestsTellConfigurationsApart) {
  Result<TemporaryFolder> made = TemporaryFolder::make();
  ASSERT_TRUE(made);
  const TemporaryFolder& folder = *made;
  const std::string config = folder.path() + "/config.json";
  ASSERT_TRUE(write_file_atomically(config, "{}"));
  EXPECT_EQ(config_digest(folder.path()), config_digest(config));
  for (const auto& [name, width] : {std::pair{"small", 256}, {"large", 512}, {"small-again", 256}})
    ASSERT_TRUE(write_file_atomically(folder.path() + "/" + name + ".gguf", gguf_of_width(width)));
  const auto of = [&](const char* name) { return config_digest(folder.path() + "/" + name + ".gguf"); };
  EXPECT_NE(of("small"), of("large"));
  EXPECT_EQ(of("small"), of("small-again"));
}

}  // namespace
}  // namespace ridge::app
