/** The tenant of a service that serves one: without a key, and with the key of BERTH_API_KEY (api §1.3, §8). */
export const MAIN_TENANT = "main";
