// Two models that share a machine, on the scripted engine and a fake clock.
#include "app/tune_share.h"

#include "app/test_tuning.h"

namespace ridge::app {
namespace {

namespace fs = std::filesystem;

class TuneShareTest : public TuningTest {
 protected:
  // Both run on two shared CPUs.
  ShareRequest both() const {
    ShareRequest request;
    for (const char* name : {"a", "b"}) {
      TuneRequest one = request_for(name);
      one.seconds = 8;
      one.engine_options["processors"] = "2";
      one.engine_options["interference"] = "0.3";
      request.models.push_back(one);
      request.goals.emplace_back();
    }
    return request;
  }
};

TEST_F(TuneShareTest, EachModelGetsAnEntryOfTheRepository) {
  const ShareRequest request = both();
  Result<SharedTuning> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  const tune::share::CoLocatedTuning* tuning = &result->tuning;
  ASSERT_EQ(tuning->models.size(), 2u);
  EXPECT_EQ(tuning->choice, tune::Choice::kCandidate);
  for (const tune::share::TunedModel& model : tuning->models) EXPECT_EQ(model.tuning.candidate.batch, 4);
  EXPECT_TRUE(fs::exists(path("repository/a/tuning.json")));
  EXPECT_TRUE(fs::exists(path("repository/b/tuning.json")));
  EXPECT_EQ(tuning->repository, path("repository"));
}

TEST_F(TuneShareTest, NothingIsWrittenWhereTheGoalsCannotBeMetTogether) {
  ShareRequest request = both();
  request.goals[1].rows_per_s = 5000;
  Result<SharedTuning> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  const tune::share::CoLocatedTuning* tuning = &result->tuning;
  EXPECT_EQ(tuning->choice, tune::Choice::kNone);
  EXPECT_FALSE(fs::exists(path("repository")));
}

TEST_F(TuneShareTest, ErrorNamesTheModel) {
  ShareRequest request = both();
  request.models[1].engine = "nothing";
  Result<SharedTuning> result = tune_share(request, read(request.models), control_);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message.starts_with("b")) << result.error().message;
}

}  // namespace
}  // namespace ridge::app
