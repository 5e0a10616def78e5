#include <allemande/allemande.h>

alm_exchange_config config(void);

alm_exchange_config config(void) {
  const alm_exchange_config made = ALM_EXCHANGE_CONFIG_INIT;
  return made;
}
