// On the fakes of NVIDIA's driver and NCCL, which use the CPU's memory.
#include "gpu/nccl/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "gpu/cuda/cuda.h"
#include "gpu/nccl/group.h"
#include "gpu/test_child.h"

namespace ridge::gpu::nccl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{2};
constexpr size_t kValues = 6;

// From now on NCCL is the fake that follows the script; once per process.
void play_nccl(const std::string& script) {
  const std::string file = testing::TempDir() + "nccl_" + std::to_string(getpid()) + ".txt";
  std::ofstream(file) << script << "\n";
  setenv("RIDGE_NCCL", test_support("libnccl.so.1").c_str(), 1);
  setenv("RIDGE_FAKE_NCCL", file.c_str(), 1);
}

// Of the first `count` GPUs; GPU c sends 10 c, 10 c + 1, …
Result<NcclGroup> group_of(size_t count, Nanoseconds patience = std::chrono::seconds(60)) {
  RIDGE_ASSIGN(const Nccl nccl, Nccl::open());
  RIDGE_ASSIGN(const cuda::Cuda cuda, cuda::Cuda::open());
  std::vector<cuda::CudaContext> contexts;
  for (size_t i = 0; i < count; ++i) {
    RIDGE_ASSIGN(contexts.emplace_back(), cuda.context(i));
  }
  RIDGE_ASSIGN(NcclGroup group, NcclGroup::create(nccl, contexts, kValues * sizeof(float), patience));
  for (size_t gpu = 0; gpu < count; ++gpu) {
    std::vector<float> values;
    for (size_t i = 0; i < kValues; ++i) values.push_back(static_cast<float>(10 * gpu + i));
    RIDGE_TRY(group.fill(gpu, values, kValues * sizeof(float)));
  }
  return group;
}

// The values received by GPU `gpu`; NaN where nothing arrived.
std::vector<float> received(NcclGroup& group, Collective collective, size_t gpu) {
  std::vector<float> values(kValues);
  for (size_t i = 0; i < group.size(); ++i) EXPECT_TRUE(group.spoil(i).ok());
  Result<double> seconds = group.run(collective, kValues * sizeof(float), 3);
  EXPECT_TRUE(seconds.ok() && *seconds > 0);
  EXPECT_TRUE(group.read(gpu, values, 0).ok());
  return values;
}

TEST(Nccl, KnowsBothFormsOfItsVersion) {
  EXPECT_EQ(nccl_version_text(23203), "2.32.3");
  EXPECT_EQ(nccl_version_text(21005), "2.10.5");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(Nccl, SaysWhyThereIsNone) {
  Result<Nccl> none = Nccl::open("/nowhere/libnccl.so.2");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotFound);
  Result<Nccl> old = Nccl::open(test_support("libnccl-ancient.so.1"));
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, Code::kUnsupported);
  EXPECT_THAT(old.error().message, AllOf(HasSubstr("ncclCommAbort"), HasSubstr("NCCL is too old")));
}

TEST(Nccl, IsFoundInPythonsPackages) {
  const std::filesystem::path environment = testing::TempDir() + "venv_" + std::to_string(getpid());
  const std::filesystem::path folder = environment / "lib/python3.11/site-packages/nvidia/nccl/lib";
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(test_support("libnccl.so.1"), folder / "libnccl.so.2");
  in_child("a package", [&] {
    unsetenv("RIDGE_NCCL");
    setenv("VIRTUAL_ENV", environment.c_str(), 1);
    Result<Nccl> found = Nccl::open();
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->version(), "2.32.3");
  });
  std::filesystem::remove_all(environment);
}

TEST(NcclGroup, DoesWhatTheOperationsPromise) {
  on_gpus("four-nvlink", [] {
    play_nccl("");
    Result<NcclGroup> group = group_of(3);
    ASSERT_TRUE(group.ok()) << group.error().message;
    EXPECT_THAT(received(*group, Collective::kAllReduce, 2), ElementsAre(30, 33, 36, 39, 42, 45));
    EXPECT_THAT(received(*group, Collective::kAllGather, 1), ElementsAre(0, 1, 10, 11, 20, 21));
    std::vector<float> scattered = received(*group, Collective::kReduceScatter, 1);
    EXPECT_EQ(scattered[0], 36);
    EXPECT_EQ(scattered[1], 39);
    EXPECT_TRUE(std::isnan(scattered[2])) << "more was written than its part";
    EXPECT_THAT(received(*group, Collective::kBroadcast, 2), ElementsAre(0, 1, 2, 3, 4, 5));
  });
}

TEST(NcclGroup, AbortsWhatDoesNotEndAndSaysSoFromThenOn) {
  on_gpus("four-nvlink", [] {
    play_nccl("stuck_after 1");
    Result<NcclGroup> group = group_of(2, kPatience);
    ASSERT_TRUE(group.ok()) << group.error().message;
    EXPECT_TRUE(group->run(Collective::kAllReduce, 8, 1).ok());
    for (int i = 0; i < 2; ++i) {
      Result<double> stuck = group->run(Collective::kBroadcast, 8, 1);
      ASSERT_FALSE(stuck.ok());
      EXPECT_EQ(stuck.error().code, Code::kTimeout);
      EXPECT_THAT(stuck.error().message, HasSubstr("broadcast did not end within 2 s and was aborted"));
    }
  });
}

TEST(NcclGroup, TellsWhatTheGpusReport) {
  on_gpus("four-nvlink", [] {
    play_nccl("async_error_after 0 6");
    Result<NcclGroup> group = group_of(2);
    ASSERT_TRUE(group.ok()) << group.error().message;
    Result<double> failed = group->run(Collective::kAllReduce, 8, 1);
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().message, AllOf(HasSubstr("remote process exited"), HasSubstr("NCCL error 6")));
  });
}

TEST(NcclGroup, LeavesBehindAStartThatNeverReturns) {
  on_gpus("four-nvlink", [] {
    play_nccl("hang ncclCommInitAll 3600");
    Result<NcclGroup> group = group_of(2, kPatience);
    ASSERT_FALSE(group.ok());
    EXPECT_THAT(group.error().message, HasSubstr("ncclCommInitAll did not end within 2 s"));
  });
}

TEST(NcclGroup, LeavesBehindACallThatNeverReturns) {
  on_gpus("four-nvlink", [] {
    play_nccl("hang ncclGroupEnd 3600");
    Result<NcclGroup> group = group_of(2, kPatience);
    ASSERT_TRUE(group.ok()) << group.error().message;
    EXPECT_FALSE(group->run(Collective::kAllReduce, 8, 1).ok());
  });
}

TEST(NcclGroup, TellsWhyItCannotStart) {
  on_gpus("four-nvlink", [] {
    play_nccl("fail ncclCommInitAll 2");
    Result<NcclGroup> group = group_of(2);
    ASSERT_FALSE(group.ok());
    EXPECT_THAT(group.error().message,
                AllOf(HasSubstr("ncclCommInitAll: unhandled system error"), HasSubstr("/dev/shm")));
  });
}

}  // namespace
}  // namespace ridge::gpu::nccl
