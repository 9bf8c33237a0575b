// Bootstrap as a PMIx client: mpirun, srun --mpi=pmix, PRRTE, godwit run. Uses only what works under all of them:
// one fence of the whole job that collects data, gets, abort, finalize.
#pragma once

#include "core/bootstrap.hpp"
#include "core/log.hpp"
#include "pmi/settings.hpp"

#include <memory>

namespace godwit::pmi {

class PmixBootstrap final : public core::Bootstrap {
 public:
  /// Connects to the PMIx server that `variables` (this process's environment) name. Throws Error(bootstrap) when
  /// it is not there or does not answer within the deadline.
  PmixBootstrap(const Variables& variables, const BootstrapSettings& settings, core::Log& log);
  /// finalize(), if that has not happened: a rank that ends without it counts as failed.
  ~PmixBootstrap() override;

  const core::JobInfo& job() const noexcept override;
  void exchange(std::span<const std::byte> card) override;
  std::vector<std::byte> card(Rank rank) override;
  /// Only some servers report deaths; `godwit run` does. The handler runs on PMIx's thread: it must return at once.
  void on_failure(FailureHandler handler) override;
  void abort(int exit_status, std::string_view reason) noexcept override;
  void finalize() noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit::pmi
