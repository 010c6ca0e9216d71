#include "tokenroof/decide/ownership.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "textbook_fixtures.hpp"
#include "tokenroof/decide/economics.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("what a bought GPU costs per hour", "[ownership]") {
  CHECK(capital_recovery_factor(0.1, 4) == closed_form("s11.crf.10pct.4y"));
  Ownership device;
  device.capital = 40000 * dollar;
  device.interest = 0.1;
  device.power = 1.275 * kilowatt;
  device.facility_factor = 1.3;
  device.electricity = 0.08 * dollar / kilowatt_hour;
  device.operations = 0.10 * dollar_per_hour;
  const OwnershipPrice price = ownership_price(device);
  CHECK(price.capital / dollar_per_hour == closed_form("s11.tco.capex_h"));
  CHECK(price.power / dollar_per_hour == closed_form("s11.tco.power_h"));
  CHECK(price.total() / dollar_per_hour == closed_form("s11.tco.total"));
  CHECK(price.total() / 0.6 / dollar_per_hour == closed_form("s11.tco.util60"));
}

TEST_CASE("joules per token", "[ownership]") {
  const JoulesPerToken energy =
      energy_per_token(8, 700.0 * watt, step_70b(8, 64, 4096).time(), 64 * token);
  CHECK(energy.base() == closed_form("s11.J_tok.L70.B64.S4096"));
  CHECK(energy * million_tokens / kilowatt_hour == closed_form("s11.kWh_Mtok"));
  CHECK(least_energy(llama_70b.weights(2), Flops{}) / joule == closed_form("s11.Jmove.L70.B1"));
  CHECK(least_energy(Bytes{}, llama_70b.linear_flops() * token) / joule ==
        closed_form("s11.Jflop.L70"));
}

TEST_CASE("properties P11.5 of the recovery factor", "[ownership]") {
  property("tends to 1 / years without interest, and pays the loan back", [] {
    const double years = between(1, 20);
    RC_ASSERT(near(capital_recovery_factor(1e-12, years), 1 / years, 1e-9));
    RC_ASSERT(capital_recovery_factor(0, years) == 1 / years);
    const double rate = between(0.001, 0.3);
    double debt = 1;
    const int whole_years = whole(1, 20);
    for (int y = 0; y < whole_years; ++y)
      debt = debt * (1 + rate) - capital_recovery_factor(rate, whole_years);
    RC_ASSERT(std::fabs(debt) < 1e-10);
  });
}
