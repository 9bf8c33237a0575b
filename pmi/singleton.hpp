// A job of one process: nothing to find, nobody to tell.
#pragma once

#include "core/bootstrap.hpp"

namespace godwit::pmi {

class SingletonBootstrap final : public core::Bootstrap {
 public:
  SingletonBootstrap();
  const core::JobInfo& job() const noexcept override { return job_; }
  void exchange(std::span<const std::byte> card) override { card_.assign(card.begin(), card.end()); }
  std::vector<std::byte> card(Rank rank) override;
  void on_failure(FailureHandler) override {}             // no other rank that could die
  void abort(int, std::string_view) noexcept override {}  // the caller exits, and that is the job's end
  void finalize() noexcept override {}

 private:
  core::JobInfo job_;
  std::vector<std::byte> card_;
};

}  // namespace godwit::pmi
