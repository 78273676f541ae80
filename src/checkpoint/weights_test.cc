#include "checkpoint/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::checkpoint {
namespace {

std::string safetensors_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

class WeightsFolder : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(write_file_atomically(folder_->path() + "/" + name, content).ok());
  }
  std::string refusal() {
    const Result<Weights> weights = Weights::open(folder_->path());
    EXPECT_FALSE(weights.ok());
    return weights ? "" : weights.error().message;
  }
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

const std::string kA = safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234");
const std::string kB = safetensors_of(R"({"b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", "5678");

TEST_F(WeightsFolder, FindsTensorsByNameInTheFilesOfTheIndex) {
  write("one.safetensors", kA);
  write("two.safetensors", kB);
  EXPECT_NE(refusal().find("index"), std::string::npos) << "two files without one";
  write("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  const Result<Weights> weights = Weights::open(folder_->path());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(std::memcmp(weights->find("a", {1})->data.data(), "1234", 4), 0);
  EXPECT_EQ(weights->find("c", {1}).error().code, Code::kNotFound);
  EXPECT_EQ(weights->find("a", {2}).error().code, Code::kInvalid);
  EXPECT_EQ(weights->find("b", {1}).error().code, Code::kUnsupported) << "no float";
}

TEST_F(WeightsFolder, RefusesAnIndexThatLeavesTheFolderOrNamesWhatIsNotThere) {
  write("one.safetensors", kA);
  write("model.safetensors.index.json", R"({"weight_map": {"a": "../one.safetensors"}})");
  EXPECT_NE(refusal().find("../one"), std::string::npos);
  write("model.safetensors.index.json", R"({"weight_map": {"z": "one.safetensors"}})");
  EXPECT_NE(refusal().find("'z'"), std::string::npos);
}

TEST_F(WeightsFolder, SaysWhatAFolderWithoutWeightsHasInstead) {
  write("pytorch_model.bin", "x");
  EXPECT_NE(refusal().find("pytorch_model.bin"), std::string::npos);
  write("other.safetensors", kA);
  EXPECT_TRUE(Weights::open(folder_->path()).ok()) << "its only one";
}

}  // namespace
}  // namespace ridge::checkpoint
